// Parts of a whole as a bar and as rows of a table; a part that has a place in the lanes leads there.

import { el, swatch } from "./dom.js";
import { duration, share } from "./format.js";

/** `parts`: {name, kind (null: no phase explains it), seconds, share}, and `go` where one leads somewhere. */
export function bar(parts, theme) {
  const segments = parts.map(({ name, kind, seconds, share: part, go }) => {
    const segment = el("div", { class: "segment", "data-kind": kind, title: `${name} ${duration(seconds * 1e9)}`, click: go });
    // Shares below a sum of one would leave the rest of the bar empty.
    segment.style.flexGrow = String(part * 1000);
    if (kind) segment.style.color = theme.ink(kind);
    // What does not fit wraps, and is hidden with its line: first the time, then the name.
    if (part > 0.04) segment.append(el("span", {}, name), el("span", {}, duration(seconds * 1e9)));
    return segment;
  });
  return el("div", { class: "stack", role: "img", "aria-label": parts.map((part) => `${part.name} ${share(part.share)}`).join(", ") }, segments);
}

/** A row of a table of parts; `ns` is its exact figure for whoever sums up, `detail` what stands small beside its name. */
export function partRow({ name, kind, seconds, share: part, go, ns, detail }) {
  const text = [kind ? swatch(kind) : el("i", { class: "swatch", "aria-hidden": "true" }), name, detail && el("span", { class: "muted" }, ` · ${detail}`)];
  const label = `${name}${detail ? `, ${detail}` : ""}`;
  const named = go ? el("button", { type: "button", class: "part-name", title: label, "aria-label": `${label}: ${duration(seconds * 1e9)}`, click: go }, text) : text;
  return el("tr", { "data-ns": ns }, el("th", { scope: "row" }, named), el("td", {}, duration(seconds * 1e9)), el("td", { class: "muted" }, share(part)));
}

/** The last row: what all sum to. */
export function totalRow(name, seconds, ns) {
  return el("tr", { class: "total", "data-ns": ns }, el("th", { scope: "row" }, name), el("td", {}, duration(seconds * 1e9)), el("td", {}, share(1)));
}
