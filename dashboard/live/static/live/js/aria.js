// What is drawn, said in elements: a grid of lanes and phases for those who do not see the canvas.

import { el, fill } from "./dom.js";
import { lines, ofBar, title } from "./detail.js";

const MOST = 400;

export class Mirror {
  /** `element` has the role grid and the keyboard's focus; `live` announces what is selected. */
  constructor(element, body, live) {
    Object.assign(this, { element, body, live });
  }

  draw({ store, bars, selected }) {
    const byLane = new Map();
    for (const bar of bars.slice(0, MOST)) byLane.set(bar.lane, [...(byLane.get(bar.lane) ?? []), ofBar(store, bar.lane, bar)]);
    fill(this.body, [...byLane].map(([lane, phases]) => this.#row(store, lane, phases.sort((a, b) => a.start - b.start), selected)));
    const active = this.body.querySelector("[aria-selected]");
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #row(store, lane, phases, selected) {
    return el("div", { role: "row" }, el("span", { role: "rowheader" }, lane.info.name), phases.map((facts) => {
      const picked = selected?.id === facts.id && selected.attempt === facts.attempt;
      return el("span", { role: "gridcell", id: `phase-${facts.attempt}-${facts.id}`, "aria-selected": picked ? "true" : null }, `${facts.name}, ${lines(store, facts).join(", ")}`);
    }));
  }

  /** Says the selected phase aloud, once. */
  announce(store, facts) {
    const text = facts ? `${title(facts)}, ${lines(store, facts).join(", ")}` : "";
    if (facts && this.live.dataset.said !== `${facts.attempt}.${facts.id}`) {
      this.live.dataset.said = `${facts.attempt}.${facts.id}`;
      this.live.textContent = text;
    }
  }
}
