// The rounds of a run: the newest generation of each, and what was measured of it.

import { KINDS, STEP_FLAG, relative } from "./frames.js";
import { median } from "./arithmetic.js";

export class Rounds {
  constructor() {
    this.byIndex = new Map();
    this.older = [];
    this.ordered = null;
  }

  apply(frame, origin) {
    const c = frame.columns;
    const begin = relative(frame, c.begin, origin);
    const end = relative(frame, c.end, origin);
    for (let i = 0; i < frame.count; i++) {
      this.#put({
        index: c.index[i],
        generation: c.generation[i],
        begin: begin[i],
        end: end[i],
        closed: Boolean(c.flags[i] & STEP_FLAG.CLOSED),
        coverage: c.coverage[i],
        waiting: c.waiting[i],
        kinds: c.kinds.slice(i * KINDS.length, (i + 1) * KINDS.length),
        trainers: c.trainers[i],
      });
    }
    this.ordered = null;
  }

  #put(round) {
    const known = this.byIndex.get(round.index);
    if (known && known.generation > round.generation) this.#keepOlder(round);
    else {
      if (known && known.generation < round.generation) this.#keepOlder(known);
      this.byIndex.set(round.index, round);
    }
  }

  #keepOlder(round) {
    this.older = this.older.filter((other) => other.index !== round.index || other.generation !== round.generation);
    this.older.push(round);
  }

  get(index) {
    return this.byIndex.get(index) ?? null;
  }

  /** Earlier generations of a round, replayed since. */
  olderOf(index) {
    return this.older.filter((round) => round.index === index);
  }

  /** Newest generations by index. */
  list() {
    this.ordered ??= [...this.byIndex.values()].sort((a, b) => a.index - b.index);
    return this.ordered;
  }

  closed() {
    return this.list().filter((round) => round.closed);
  }

  get newest() {
    return this.list().at(-1) ?? null;
  }

  get newestClosed() {
    return this.closed().at(-1) ?? null;
  }

  /** The round under a time, else the last that began before it. */
  at(time) {
    return this.list().findLast((round) => round.begin <= time) ?? null;
  }

  /** Median wall time (ns) of the last `count` closed rounds; NaN without one. */
  medianWall(count = Infinity) {
    const closed = this.closed();
    return median(closed.slice(Math.max(0, closed.length - count)).map((round) => round.end - round.begin));
  }
}
