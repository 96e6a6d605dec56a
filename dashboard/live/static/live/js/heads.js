// Names beside the lanes: elements for the rows in sight only, reused as they scroll.

import { el, fill, say } from "./dom.js";
import { legible, plural } from "./format.js";
import { rowsInSight } from "./measure.js";
import { wordsOf } from "./words.js";

const NAMED_FROM = 12;

export class Heads {
  /** `on.pin(lane)`: the name was pressed. */
  constructor(container, on) {
    Object.assign(this, { container, on, pool: [] });
  }

  /** `tracks`: the texts of tracks in sight by row. */
  draw({ layout, top, height, store, ui, round, tracks }) {
    const slow = this.#slow(store, round);
    let used = 0;
    for (const row of rowsInSight(layout, { top, height })) {
      if (row.kind === "lane" && row.height < NAMED_FROM) continue;
      if (row.kind === "track") this.#track(this.#element(used++), row, tracks.get(row));
      else this.#show(this.#element(used++), row, { slow, ui, store });
    }
    if (layout.height && layout.rows[0].height < NAMED_FROM) used += this.#count(this.#element(used), layout, top, wordsOf(store).worker);
    for (let i = used; i < this.pool.length; i++) this.pool[i].hidden = true;
  }

  /** Names of the workers that a finding of the round in question names; what is only worth knowing flags nobody. */
  #slow(store, round) {
    const findings = [...store.marks.open, ...(round ? store.marks.ofRound(round.index) : [])];
    return new Set(findings.flatMap((finding) => (finding.severity === "info" ? [] : finding.workers ?? [])));
  }

  #element(index) {
    if (!this.pool[index]) {
      const element = el("div", { click: () => element.lane && this.on.pin(element.lane) });
      this.pool.push(element);
      this.container.append(element);
    }
    return this.pool[index];
  }

  /** Where lanes are too low for names, how many there are. */
  #count(element, layout, top, worker) {
    element.hidden = false;
    element.lane = null;
    element.className = "lane-count";
    element.style.transform = `translateY(${top}px)`;
    say(element, plural(layout.lanes, worker));
    return 1;
  }

  #track(element, row, texts) {
    this.#stand(element, row);
    element.className = "track-name";
    const { label = "", value = "–", range = "", title = "" } = texts ?? {};
    if (!element.querySelector(".track-value")) fill(element, el("span"), el("b", { class: "track-value" }), el("small"));
    [label, value, range].forEach((text, i) => say(element.children[i], text));
    if (element.title !== title) element.title = title;
  }

  #stand(element, row) {
    element.hidden = false;
    element.style.transform = `translateY(${row.y}px)`;
    element.style.height = `${row.height}px`;
    element.lane = row.lane ?? null;
  }

  #show(element, row, { slow, ui, store }) {
    this.#stand(element, row);
    const { info } = row.lane ?? {};
    say(element, info ? legible(info.name) : row.label);
    if (!info) {
      element.className = "row-head";
      element.removeAttribute("title");
      return;
    }
    const state = info.state ?? "running";
    const tone = slow.has(info.name) ? "slow" : "";
    element.className = `lane-name ${tone} ${ui.pins.has(info.name) ? "pinned" : ""}`;
    element.dataset.state = state;
    const title = [info.name, info.role, info.host, state, info.state_reason, this.#attempts(store, row.lane)].filter(Boolean).join(" · ");
    if (element.title !== title) element.title = title;
  }

  #attempts(store, lane) {
    const attempts = [...store.attempts.values()].filter((attempt) => attempt.lane === lane.index);
    return attempts.length > 1 ? `${attempts.length} attempts` : "";
  }
}
