// The line of controls above the lanes: follow, window, grouping, order, row height, filter, and what the colours mean.

import { el, fill, say, swatch } from "./dom.js";
import { KINDS } from "./frames.js";
import { plural } from "./format.js";
import { choices, titleOf } from "./tracks.js";
import { extentText, parseExtent } from "./view.js";

const EXTENTS = [
  ["3r", "Last 3 rounds"], ["1r", "Last round"], ["5r", "Last 5 rounds"], ["10r", "Last 10 rounds"], ["30s", "30 s"],
  ["120s", "2 min"], ["600s", "10 min"], ["3600s", "1 h"], ["all", "Whole run"],
];
// Of rounds that are too short to follow one by one, time alone is followed, and the newest of it at first.
const OF_TIME = [["3r", "Newest"], ...EXTENTS.filter(([value]) => !value.endsWith("r"))];
export const CHOICES = {
  group: [["machine", "Group: machine"], ["none", "Group: none"]],
  sort: [["name", "Sort: name"], ["slowest", "Sort: slowest first"], ["arrival", "Sort: arrival"]],
  rows: [["auto", "Rows: auto"], ["comfortable", "Rows: comfortable"], ["compact", "Rows: compact"], ["overview", "Rows: overview"]],
};

const COPY = "Copy link";
const SAID_MS = 2000;

/** What to follow, as [value, label]; `short` where rounds are too short for that. */
export function extentsOf(extent, short) {
  const offered = short ? OF_TIME : EXTENTS;
  const text = extentText(extent);
  if (offered.some(([value]) => value === text)) return offered;
  const rounds = short ? "Newest" : `Last ${extent.rounds} rounds`;
  return [...offered, [text, extent.rounds ? rounds : `${Number((extent.span / 1e9).toPrecision(3))} s`]];
}

const options = (choices) => choices.map(([value, label]) => el("option", { value }, label));

export class Toolbar {
  constructor({ toolbar, gutter }, actions) {
    this.follow = el("button", { type: "button", class: "button follow", title: "L follows, Space pauses", click: () => actions.toggle() });
    this.extent = el("select", { class: "button", "aria-label": "What to follow", change: () => actions.extent(parseExtent(this.extent.value)) }, options(EXTENTS));
    this.choices = Object.fromEntries(["group", "sort", "rows"].map((name) => {
      const select = el("select", { class: "button", "aria-label": name, change: () => actions.choose(name, select.value) }, options(CHOICES[name]));
      return [name, select];
    }));
    this.reading = el("select", { class: "button reading", "aria-label": "Reading under the lanes", title: "A reading under the lanes (U), but for those of the overview", change: () => actions.choose("track", this.reading.value) });
    this.table = el("button", { type: "button", class: "button", title: "T", click: () => actions.flip("table") }, "Table");
    this.ranks = el("button", { type: "button", class: "button", title: "E", click: () => actions.flip("ranks") });
    this.link = el("button", { type: "button", class: "button", title: "To the selected phase, or to what is in sight (C)", click: () => actions.link() }, COPY);
    this.filter = el("input", { type: "search", class: "filter", placeholder: "Filter /", "aria-label": "Filter lanes", maxlength: 128, input: () => actions.choose("filter", this.filter.value) });
    this.legend = el("div", { class: "legend" });
    const help = el("button", { type: "button", class: "button icon", title: "Keys (?)", "aria-label": "Keys", click: () => actions.help() }, "?");
    fill(toolbar, this.follow, this.extent, ...Object.values(this.choices), this.reading, this.table, this.ranks, this.link, help, this.legend);
    fill(gutter, this.filter);
  }

  draw({ view, ui, fresh, running, phases, samples, words, waits }) {
    const text = view.follow ? (running ? "Following" : "End") : fresh ? `Follow · ${plural(fresh, `new ${words.round}`)}` : "Follow";
    say(this.follow, text);
    this.follow.setAttribute("aria-pressed", String(view.follow));
    this.#extent(view, words);
    this.#readings(samples, ui.track);
    for (const [name, select] of Object.entries(this.choices)) if (select.value !== ui[name]) select.value = ui[name];
    for (const [name, button] of Object.entries({ table: this.table, ranks: this.ranks })) button.setAttribute("aria-pressed", String(ui.show === name));
    say(this.ranks, `By ${words.worker}`);
    if (this.filter.value !== ui.filter) this.filter.value = ui.filter;
    const kinds = KINDS.filter((kind) => (kind === "wait" && waits) || phases.some((phase) => phase?.kind === kind));
    if (this.kinds !== kinds.join()) fill(this.legend, kinds.map((kind) => el("span", {}, swatch(kind), kind)));
    this.kinds = kinds.join();
  }

  /** Says for a moment whether a link is on the clipboard. */
  copied(done) {
    say(this.link, done ? "Copied" : "Not copied");
    clearTimeout(this.saying);
    this.saying = setTimeout(() => say(this.link, COPY), SAID_MS);
  }

  /** What of the samples can be drawn; what a link asks for is kept, even where this run has none of it. */
  #readings(samples, chosen) {
    if (this.offered !== samples.described) {
      this.offered = samples.described;
      const offered = choices(samples);
      if (chosen && !offered.some(([metric]) => metric === chosen)) offered.push([chosen, titleOf({ metric: chosen })]);
      fill(this.reading, options([["", "Reading: none"], ...offered]));
    }
    this.reading.hidden = this.reading.length < 2;
    if (this.reading.value !== chosen) this.reading.value = chosen;
  }

  /** What may be followed; a window that none of these is, as after zooming, gets an entry of its own. */
  #extent({ extent, brief }, { round }) {
    const text = extentText(extent);
    const offered = extentsOf(extent, brief || round === "step");
    const stamp = offered.join();
    if (this.offers !== stamp) fill(this.extent, options(offered));
    this.offers = stamp;
    if (this.extent.value === text) return;
    this.extent.value = text;
  }
}
