// The card beside the pointer: every detail of a phase, and what the server adds to it after a moment.

import { AGAIN_MS, attributes, endedAgo, lines, locate, moreLines, title } from "./detail.js";
import { el, fill } from "./dom.js";
import { isolated } from "./format.js";
import { readingRows } from "./readings.js";

const DWELL_MS = 150;
const AWAY = 14;

export class Tooltip {
  constructor(element, details) {
    Object.assign(this, { element, details, key: null, at: null });
  }

  /** Shows a phase near a point of the window, or hides with null. */
  phase(store, facts, now, point) {
    this.now = now;
    if (!facts) return this.hide();
    const key = `${facts.attempt}.${facts.id}`;
    if (key !== this.key) {
      this.key = key;
      this.more = null;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#ask(store, facts, key), DWELL_MS);
    }
    this.at = { attempt: facts.attempt, id: facts.id, lane: facts.lane.index };
    this.#write(store, facts, now);
    return this.#place(point);
  }

  /** While the pointer rests, what is shown goes on: an open phase grows, an ended one gets older. */
  tick(store, now) {
    const facts = this.key === null || this.element.hidden ? null : locate(store, this.at);
    if (!facts) return;
    this.now = now;
    if (performance.now() - this.asked > AGAIN_MS && this.more && !this.more.readings?.settled) this.#ask(store, facts, this.key);
    this.#write(store, facts, now);
    this.#place(this.point);
  }

  text(text, point) {
    this.key = null;
    if (!text) return this.hide();
    fill(this.element, el("b", {}, text));
    return this.#place(point);
  }

  hide() {
    this.key = null;
    clearTimeout(this.timer);
    this.element.hidden = true;
  }

  #write(store, facts, now) {
    const shown = [el("b", {}, title(facts)), ...lines(store, facts).map((line) => el("div", {}, line))];
    const ended = endedAgo(store, facts, now);
    if (ended) shown.push(el("div", {}, ended));
    if (facts.finding) shown.push(el("div", { class: "tip-finding" }, facts.finding.observed));
    shown.push(...moreLines(this.more, facts.words).map((line) => el("div", {}, line)));
    for (const [label, text, tone] of readingRows(this.more?.readings, facts.kind)) shown.push(el("div", { class: "tip-reading", "data-tone": tone }, el("span", {}, label), text));
    for (const [name, text] of attributes(this.more)) shown.push(el("div", { class: "tip-attr" }, `${isolated(name)}: ${text}`));
    fill(this.element, ...shown);
  }

  async #ask(store, facts, key) {
    this.asked = performance.now();
    const more = await this.details.of(facts);
    if (this.key !== key || !more) return;
    this.more = more;
    this.#write(store, facts, this.now);
    this.#place(this.point);
  }

  #place(point) {
    this.point = point;
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = point.x + AWAY + width > innerWidth ? point.x - AWAY - width : point.x + AWAY;
    const top = point.y + AWAY + height > innerHeight ? point.y - AWAY - height : point.y + AWAY;
    this.element.style.transform = `translate(${Math.max(4, Math.round(left))}px, ${Math.max(4, Math.round(top))}px)`;
  }
}
