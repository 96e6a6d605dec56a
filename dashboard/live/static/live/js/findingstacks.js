// The thread stacks that were taken of a slow phase, folded in its finding's card; they stay open and scrolled when the
// panel is drawn anew.

import { el } from "./dom.js";
import { whereText } from "./eventwords.js";
import { clockTime, isolated } from "./format.js";

const MOST = 4;
const MOST_CHARS = 300;

const cut = (text) => isolated(text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text);

/** Those of a finding's evidence that make sense: [{key, lane, time (Unix ns or null), threads, failed}]. */
export function takenStacks({ id, evidence }) {
  const all = Array.isArray(evidence?.stacks) ? evidence.stacks : [];
  return all.slice(0, MOST).map(({ attempt, start, lane, time_ns: time, threads, failed }) => ({
    key: `${id}/${attempt}.${start}`, lane, time: /^\d{1,19}$/.test(time) ? BigInt(time) : null,
    threads: Array.isArray(threads) ? threads.filter(({ frames }) => Array.isArray(frames)) : [], failed: failed || "",
  }));
}

function thread(one) {
  const frames = one.frames.map(([file, line, call]) => el("li", {}, el("b", {}, cut(call)), ` ${cut(file)}:${line || "?"}`));
  return [el("h4", {}, cut(whereText(one))), frames.length > 0 && el("ol", {}, frames)];
}

export class FindingStacks {
  constructor() {
    this.open = new Set();
    this.tops = new Map();
  }

  /** What a card shows of them; nothing where none were taken. */
  draw(finding, lanes) {
    return takenStacks(finding).map((taken) => this.#one(taken, isolated(lanes.get(taken.lane)?.info.name ?? "")));
  }

  #one({ key, time, threads, failed }, name) {
    const said = ["Thread stacks", name, time === null ? "" : `at ${clockTime(time, 1e9)}`].filter(Boolean).join(" · ");
    if (!threads.length) return el("p", { class: "muted" }, `${said}: ${cut(failed) || "none"}`);
    const box = el("div", { class: "frames", tabindex: "0", role: "region", "aria-label": said, "data-stacks": key, scroll: ({ target }) => this.tops.set(key, target.scrollTop) }, threads.map(thread));
    const keep = ({ target }) => (target.open ? this.open.add(key) : this.open.delete(key));
    return el("details", { class: "taken", open: this.open.has(key), toggle: keep }, el("summary", { "aria-label": `${said}: show` }, said), box);
  }

  /** Scrolls what has just been put on the page to where it was. */
  restore(element) {
    for (const box of element.querySelectorAll("[data-stacks]")) box.scrollTop = this.tops.get(box.dataset.stacks) ?? 0;
  }
}
