// The rounds of a run: the newest generation of each, and what was measured of it.

import { KINDS, STEP_FLAG, relative } from "./frames.js";
import { median } from "./arithmetic.js";

// A run of steps may have millions of rounds; the strip shows some hundreds, and figures speak of those that are here.
export const ROUND_LIMIT = 20_000;

export class Rounds {
  constructor(limit = ROUND_LIMIT) {
    this.limit = limit;
    this.byIndex = new Map();
    this.older = [];
    this.ordered = [];
    this.ended = null;
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
    this.ended = null;
    if (this.ordered.length > this.limit) this.#forget();
  }

  #put(round) {
    const known = this.byIndex.get(round.index);
    if (known && known.generation > round.generation) return this.#keepOlder(round);
    if (known && known.generation < round.generation) this.#keepOlder(known);
    this.byIndex.set(round.index, round);
    return this.#place(round);
  }

  /** Rounds come in order but for a few, so that nothing is sorted. */
  #place(round) {
    const { ordered } = this;
    let at = ordered.length;
    while (at > 0 && ordered[at - 1].index > round.index) at -= 1;
    if (at > 0 && ordered[at - 1].index === round.index) ordered[at - 1] = round;
    else ordered.splice(at, 0, round);
  }

  #keepOlder(round) {
    this.older = this.older.filter((other) => other.index !== round.index || other.generation !== round.generation);
    this.older.push(round);
    if (this.older.length > this.limit) this.older.shift();
  }

  /** Lets the oldest go: a tenth more than must, so that it is seldom done. */
  #forget() {
    const gone = this.ordered.splice(0, this.ordered.length - Math.floor(this.limit * 0.9));
    for (const { index } of gone) this.byIndex.delete(index);
    this.older = this.older.filter((round) => this.byIndex.has(round.index));
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
    return this.ordered;
  }

  closed() {
    this.ended ??= this.ordered.filter((round) => round.closed);
    return this.ended;
  }

  get newest() {
    return this.ordered.at(-1) ?? null;
  }

  get newestClosed() {
    return this.closed().at(-1) ?? null;
  }

  /** The round under a time, else the last that began before it. */
  at(time) {
    return this.ordered.findLast((round) => round.begin <= time) ?? null;
  }

  /** Median wall time (ns) of the last `count` closed rounds; NaN without one. */
  medianWall(count = Infinity) {
    const closed = this.closed();
    return median(closed.slice(Math.max(0, closed.length - count)).map((round) => round.end - round.begin));
  }
}
