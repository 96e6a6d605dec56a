// The ended phases of one lane: a struct of arrays in order of (start, id), with the latest end of each block beside it.
// `wait` is how much of a collective a rank only waited, in ns from its start: see collectives.js.

export const BLOCK = 256;

const COLUMNS = [
  ["start", Float64Array], ["end", Float64Array], ["id", Uint32Array], ["round", Int32Array], ["attempt", Uint16Array],
  ["phase", Uint16Array], ["flags", Uint16Array], ["thread", Uint16Array],
  ["wait", Float32Array],
];

export class LaneSpans {
  constructor() {
    this.count = 0;
    this.sorted = 0;
    this.#resize(BLOCK);
  }

  /** Appends a span; times in ns since the store's origin. Order is restored by `settle`, once per drawing. */
  add(start, end, id, round, attempt, phase, flags, thread) {
    if (this.count === this.start.length) this.#resize(this.count * 2);
    const i = this.count++;
    this.start[i] = start;
    this.end[i] = end;
    this.id[i] = id;
    this.round[i] = round;
    this.attempt[i] = attempt;
    this.phase[i] = phase;
    this.flags[i] = flags;
    this.thread[i] = thread;
    this.wait[i] = 0;
    if (this.sorted !== i || (i > 0 && this.#before(start, id, i - 1))) return;
    this.sorted = this.count;
    const block = Math.floor(i / BLOCK);
    this.reach[block] = i % BLOCK ? Math.max(this.reach[block], end) : end;
  }

  /** Brings what came late into its place. */
  settle() {
    if (this.sorted === this.count) return;
    const first = this.sorted;
    const late = this.#copyOfTail(first);
    let from = first - 1;
    let to = this.count - 1;
    for (let j = this.count - first - 1; j >= 0; to--) {
      if (from >= 0 && this.#before(late.start[j], late.id[j], from)) this.#move(this, from--, to);
      else this.#move(late, j--, to);
    }
    this.sorted = this.count;
    this.#measure(Math.floor(Math.max(0, to + 1) / BLOCK));
  }

  /** Index of the first span that starts at or after `time`; the lane must be settled. */
  lowerBound(time) {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.start[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls `visit(index)` for each span that touches [from, to], in order. */
  each(from, to, visit) {
    this.settle();
    const stop = this.lowerBound(to);
    for (let block = 0; block * BLOCK < stop; block++) {
      if (this.reach[block] < from) continue;
      const last = Math.min(stop, (block + 1) * BLOCK);
      for (let i = block * BLOCK; i < last; i++) if (this.end[i] >= from) visit(i);
    }
  }

  /** Index of a span by its identity, newest first; -1 where it is not here. */
  find(attempt, id) {
    for (let i = this.count - 1; i >= 0; i--) if (this.id[i] === id && this.attempt[i] === attempt) return i;
    return -1;
  }

  /** Forgets the spans that start before `time`; returns how many. */
  dropBefore(time) {
    this.settle();
    const gone = this.lowerBound(time);
    if (!gone) return 0;
    for (const [name] of COLUMNS) this[name].copyWithin(0, gone, this.count);
    this.count -= gone;
    this.sorted = this.count;
    this.#resize(Math.max(BLOCK, this.count));
    this.#measure(0);
    return gone;
  }

  #before(start, id, i) {
    return start < this.start[i] || (start === this.start[i] && id < this.id[i]);
  }

  #copyOfTail(first) {
    const order = Array.from({ length: this.count - first }, (_, i) => first + i);
    order.sort((a, b) => this.start[a] - this.start[b] || this.id[a] - this.id[b]);
    return Object.fromEntries(COLUMNS.map(([name, Column]) => [name, Column.from(order, (i) => this[name][i])]));
  }

  #move(source, from, to) {
    for (const [name] of COLUMNS) this[name][to] = source[name][from];
  }

  #measure(block) {
    for (; block * BLOCK < this.count; block++) {
      let latest = -Infinity;
      const last = Math.min(this.count, (block + 1) * BLOCK);
      for (let i = block * BLOCK; i < last; i++) latest = Math.max(latest, this.end[i]);
      this.reach[block] = latest;
    }
  }

  #resize(capacity) {
    for (const [name, Column] of COLUMNS) {
      const grown = new Column(capacity);
      if (this[name]) grown.set(this[name].subarray(0, this.count));
      this[name] = grown;
    }
    const reach = new Float64Array(Math.ceil(capacity / BLOCK));
    if (this.reach) reach.set(this.reach.subarray(0, Math.ceil(this.count / BLOCK)));
    this.reach = reach;
  }
}
