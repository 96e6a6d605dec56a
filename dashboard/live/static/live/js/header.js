// Shows the key figures and the run's state; each figure opens its definition.

import { definition } from "./definition.js";
import { el, fill, say } from "./dom.js";
import { failureOf, failureText } from "./failure.js";
import { age, clockTime, dayTime, isolated, plural } from "./format.js";
import { figures } from "./figures.js";
import { wordsOf } from "./words.js";

class Figure {
  constructor() {
    const { button, card } = definition();
    Object.assign(this, { label: button, definition: card });
    this.value = el("b", { class: "figure-value" });
    this.detail = el("span", { class: "figure-detail" });
    this.more = el("div", { class: "figure-detail figure-more" });
    this.element = el("div", { class: "figure" }, this.label, el("div", { class: "figure-line" }, this.value, " ", this.detail), this.more, this.definition);
  }

  say({ label, value, detail, more = "", tone = "", definition }) {
    say(this.label, label);
    say(this.value, value);
    say(this.detail, detail);
    say(this.more, more);
    if (this.more.title !== more) this.more.title = more;
    say(this.definition, definition);
    this.element.dataset.tone = tone;
  }
}

export class Header {
  constructor({ root, figures: container, state, facts, failure }) {
    Object.assign(this, { much: Number(root.dataset.waitingWarn), container, state, facts, failure, shown: [] });
  }

  /** `analysis`: what the server concluded of the latest round it was asked about, or null. */
  draw(store, now, analysis) {
    const found = figures(store, now, this.much, analysis);
    while (this.shown.length < found.length) this.shown.push(new Figure());
    found.forEach((figure, i) => this.shown[i].say(figure));
    if (this.container.children.length !== found.length) fill(this.container, ...this.shown.map((one) => one.element));
    const { state = "", started_ns: started } = store.run;
    if (state) {
      say(this.state, state);
      this.state.className = `badge ${state}`;
    }
    say(this.facts, this.#facts(store, started, now));
    this.#failed(store);
  }

  #failed(store) {
    const failure = failureOf(store);
    this.failure.hidden = !failure;
    const text = failure ? failureText(failure) : "";
    say(this.failure, text);
    if (this.failure.title !== text) this.failure.title = text;
  }

  #facts(store, started, now) {
    const lanes = [...store.lanes.values()].map((lane) => lane.info);
    const trainers = lanes.filter((info) => info.role === "trainer").length;
    const machines = new Set(lanes.map((info) => info.machine).filter(Boolean)).size;
    const site = lanes.find((info) => info.role === "coordinator")?.site;
    const workers = lanes.length > trainers ? `${plural(lanes.length, "worker")}, ${trainers.toLocaleString("en")} of them trainers` : plural(trainers, wordsOf(store).trainer);
    const facts = [lanes.length ? workers : "", machines ? plural(machines, "machine") : ""];
    if (site) facts.push(`coordinator in ${isolated(site)}`);
    if (started) {
      const end = store.run.ended_ns ? store.fromUnix(store.run.ended_ns) : now;
      const length = end - store.fromUnix(started);
      const begin = store.run.ended_ns ? dayTime(BigInt(started)) : clockTime(BigInt(started), 1e9);
      facts.push(`started ${begin} (${age(length)}${store.run.ended_ns ? "" : " ago"})`);
    }
    return facts.filter(Boolean).join(" · ");
  }
}
