// The phases in view as a table, for those who read better than they look, and for copying.

import { clockTime, duration, legible } from "./format.js";
import { el, fill } from "./dom.js";
import { ofBar, standing } from "./detail.js";
import { wordsOf } from "./words.js";

const MOST = 500;

/** Phases that touch the view on the shown lanes, newest first; `all` counts those beyond the limit too. */
export function tableRows(store, layout, view, most = MOST) {
  const found = [];
  for (const { kind, lane } of layout.rows) {
    if (kind !== "lane") continue;
    lane.spans.each(view.from, view.to, (index) => found.push({ lane, index, open: null, start: lane.spans.start[index] }));
    for (const open of lane.open) if (open.end >= view.from && open.start < view.to) found.push({ lane, index: -1, open, start: open.start });
  }
  found.sort((a, b) => b.start - a.start);
  return { all: found.length, rows: found.slice(0, most).map((bar) => ofBar(store, bar.lane, bar)) };
}

export class Table {
  constructor(element, on) {
    Object.assign(this, { element, on, stamp: "" });
  }

  draw({ store, layout, view, selected }) {
    const stamp = [store.version, view.from, view.to, layout.lanes, selected?.id].join("/");
    if (stamp === this.stamp || this.#isBeingRead()) return;
    this.stamp = stamp;
    const { all, rows } = tableRows(store, layout, view);
    const { worker, round } = wordsOf(store);
    const heads = [worker, "phase", "kind", round, "start", "duration", "state"];
    const caption = all > rows.length ? `The newest ${rows.length} of ${all.toLocaleString("en")} phases in view` : `${all.toLocaleString("en")} phases in view`;
    fill(this.element,
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((facts) => this.#row(store, facts, selected))));
  }

  /** Rows stay as they are while text in them is marked, to be copied. */
  #isBeingRead() {
    const marked = getSelection();
    return !marked.isCollapsed && this.element.contains(marked.anchorNode);
  }

  #row(store, facts, selected) {
    const { lane, name, kind, round, start, end, attempt, id } = facts;
    const picked = selected?.id === id && selected.attempt === attempt;
    return el("tr", { "aria-selected": picked ? "true" : null, click: () => this.on.pick({ attempt, id, lane: lane.index }) },
      el("th", { scope: "row" }, legible(lane.info.name)), el("td", {}, legible(name)), el("td", {}, kind), el("td", {}, round >= 0 ? String(round) : "–"),
      el("td", {}, clockTime(store.toUnix(start), 1e6)), el("td", {}, duration(end - start)), el("td", {}, facts.finding ? "slow" : standing(facts)));
  }
}
