// The strip of rounds above the lanes: wall time of each, coloured by where it went; a click jumps there.

import { clamp } from "./arithmetic.js";
import { fit } from "./dom.js";
import { reachOf } from "./ending.js";
import { duration, plural, share } from "./format.js";
import { KINDS } from "./frames.js";
import { kindSeconds } from "./kinds.js";
import { capital, wordsOf } from "./words.js";

const HEIGHT = 56;
const BARS = 38;
const TOP = 5;
const WIDEST = 54;
const NARROWEST = 4;
const APART = 28;

/** Which rounds fit, and how wide each is: {first, count, slot}. Rounds that are planned count, the newest stay in sight. */
export function slots(rounds, planned, width, center = null) {
  const last = rounds.length ? rounds.at(-1).index : -1;
  const total = Math.max(last + 1, planned ?? 0, 1);
  const slot = clamp(width / total, NARROWEST, WIDEST);
  const count = Math.min(total, Math.floor(width / slot));
  const wanted = center === null ? last + 1 + Math.min(total - last - 1, Math.floor(count / 4)) - count : center - Math.floor(count / 2);
  return { first: clamp(wanted, 0, total - count), count, slot };
}

/** The rounds that have their number written, no closer than `APART` px; the selected one always has. */
export function labelled({ first, count, slot }, selected) {
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * slot >= APART) ?? 1000;
  const all = Array.from({ length: count }, (_, i) => first + i);
  return all.filter((index) => index === selected || (index % every === 0 && !(Math.abs(index - selected) * slot < APART)));
}

/** Where the middle of a text of some px stands so that neither edge of the strip cuts it off. */
export function inSight(middle, length, width) {
  return clamp(middle, Math.min(length, width) / 2, width - Math.min(length, width) / 2);
}

export class RoundStrip {
  /** `on.pick(first, last)`: rounds that a click or a drag chose. `on.hint(text, event)`: what is under the pointer. */
  constructor(canvas, on) {
    Object.assign(this, { canvas, on, context: canvas.getContext("2d"), anchor: null });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", () => (this.anchor = null));
    canvas.addEventListener("pointerleave", () => on.hint(null));
  }

  draw({ store, view, theme, selected }) {
    fit(this.canvas, view.width, HEIGHT);
    const { context } = this;
    const ratio = this.canvas.width / view.width;
    Object.assign(this, { store });
    const rounds = store.rounds.list();
    const shown = view.follow ? null : (store.rounds.at((view.from + view.to) / 2)?.index ?? 0);
    this.slots = slots(rounds, store.run.rounds_planned, view.width, shown);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, HEIGHT);
    const visible = rounds.filter((round) => round.index >= this.slots.first && round.index < this.slots.first + this.slots.count);
    const longest = Math.max(...visible.map((round) => this.#wall(round)), 1);
    this.#ghosts(theme, rounds);
    for (const round of visible) this.#bar(round, longest, theme);
    if (rounds.length || store.run.rounds_planned) this.#labels(theme, selected, view.width);
    this.#brush(view, theme);
  }

  #wall(round) {
    const end = Number.isFinite(round.end) ? round.end : Math.max(reachOf(this.store), round.begin);
    return end - round.begin;
  }

  #x(index) {
    return (index - this.slots.first) * this.slots.slot;
  }

  #ghosts(theme, rounds) {
    const next = rounds.length ? rounds.at(-1).index + 1 : 0;
    const planned = this.store.run.rounds_planned ?? 0;
    this.context.fillStyle = theme.line;
    for (let index = Math.max(next, this.slots.first); index < Math.min(planned, this.slots.first + this.slots.count); index++) {
      this.context.fillRect(this.#x(index), TOP + BARS - 3, this.#bodyWidth(), 3);
    }
  }

  #bodyWidth() {
    return Math.max(1, this.slots.slot - (this.slots.slot > 12 ? 7 : 1));
  }

  #bar(round, longest, theme) {
    const wall = this.#wall(round);
    const x = this.#x(round.index);
    const width = this.#bodyWidth();
    const height = Math.max(2, (wall / longest) * BARS);
    this.context.fillStyle = theme.line;
    this.context.fillRect(x, TOP + BARS - height, width, height);
    const { seconds } = kindSeconds(this.store, round);
    const scale = Math.min(height / (wall / 1e9), height / Math.max(1e-9, seconds.reduce((sum, value) => sum + value, 0)));
    let y = TOP + BARS;
    KINDS.forEach((kind, i) => {
      this.context.fillStyle = theme.kind(kind);
      y -= seconds[i] * scale;
      this.context.fillRect(x, y, width, seconds[i] * scale);
    });
    if (!this.store.marks.ofRound(round.index).length) return;
    this.context.fillStyle = theme.warn;
    this.context.beginPath();
    this.context.arc(x + width / 2, Math.max(TOP, TOP + BARS - height), Math.min(4, width / 2 + 1.5), 0, Math.PI * 2);
    this.context.fill();
  }

  #labels(theme, selected, width) {
    this.context.font = theme.font;
    this.context.textAlign = "center";
    for (const index of labelled(this.slots, selected)) {
      this.context.fillStyle = index === selected ? theme.text : theme.muted;
      const text = String(index);
      const middle = this.#x(index) + this.#bodyWidth() / 2;
      this.context.fillText(text, inSight(middle, this.context.measureText(text).width, width), HEIGHT - 2);
    }
  }

  #brush(view, theme) {
    const place = (time) => {
      const round = this.store.rounds.at(time);
      if (!round) return 0;
      return this.#x(round.index) + clamp((time - round.begin) / Math.max(1, this.#wall(round)), 0, 1) * this.slots.slot;
    };
    const { newest } = this.store.rounds;
    if (!newest || view.from > newest.begin + this.#wall(newest)) return;
    const [left, right] = [place(view.from), place(view.to)];
    if (right < 0 || left > view.width) return;
    this.context.strokeStyle = theme.accent;
    this.context.lineWidth = 1.5;
    this.context.strokeRect(Math.max(0.75, left - 3), 1.25, Math.max(6, Math.min(view.width - 1, right) - Math.max(0, left - 3)), BARS + TOP + 1);
  }

  #indexAt(event) {
    if (!this.slots) return null;
    const index = this.slots.first + Math.floor(event.offsetX / this.slots.slot);
    return this.store.rounds.get(index) ? index : null;
  }

  #down(event) {
    this.anchor = this.#indexAt(event);
    if (this.anchor === null) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.on.pick(this.anchor, this.anchor);
  }

  #move(event) {
    const index = this.#indexAt(event);
    if (index === null) return this.on.hint(null);
    if (this.anchor !== null) return this.on.pick(Math.min(index, this.anchor), Math.max(index, this.anchor));
    const round = this.store.rounds.get(index);
    const findings = this.store.marks.ofRound(index).length;
    const facts = [`${capital(wordsOf(this.store).round)} ${index}`, duration(this.#wall(round)), round.closed ? null : "open"];
    if (Number.isFinite(round.waiting)) facts.push(`GPU waiting ${share(round.waiting)}`);
    if (findings) facts.push(plural(findings, "finding"));
    return this.on.hint(facts.filter(Boolean).join(" · "), event);
  }
}
