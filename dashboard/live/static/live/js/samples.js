// Readings over time: a pair of columns for each series, in order of time, without repetition, thinner where they are old.

import { clamp } from "./arithmetic.js";
import { relative } from "./frames.js";

// Readings of all series together, at 12 bytes each, and the most and fewest that one series may keep of them.
export const READING_LIMIT = 2_000_000;
const MOST = 20_000;
const FEWEST = 500;

/** Times in ns since the store's origin; `highest` is of all readings that came. Before `thinned`, one reading stands for each stretch of `spacing`. */
class Line {
  constructor() {
    this.info = {};
    this.spacing = 0;
    this.thinned = -Infinity;
    this.count = 0;
    this.highest = NaN;
    this.times = new Float64Array(64);
    this.values = new Float32Array(64);
  }

  add(time, value) {
    const late = this.count > 0 && this.times[this.count - 1] > time;
    const at = late ? this.indexAt(time) + 1 : this.count;
    if (at > 0 && this.times[at - 1] === time) return;
    if (this.count === this.times.length) this.#grow();
    this.times.copyWithin(at + 1, at, this.count);
    this.values.copyWithin(at + 1, at, this.count);
    this.times[at] = time;
    this.values[at] = value;
    this.count += 1;
    if (value > this.highest || Number.isNaN(this.highest)) this.highest = value;
  }

  /** Index of the last reading at or before `time`, -1 without one. */
  indexAt(time) {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** How far apart (ns) a reading and its next may be to be joined, where `gap` is that of readings as they came. */
  reach(index, gap) {
    return this.times[index] < this.thinned ? Math.max(gap, this.spacing * 2) : gap;
  }

  /** Lets the newest quarter of `limit` be, and keeps the highest reading of each of equal stretches before it. */
  thin(limit) {
    const { times, values } = this;
    const old = this.count - (limit >> 2);
    this.thinned = times[old];
    const least = (this.thinned - times[0]) / ((limit * 3) >> 3);
    // Only ever doubled, so that stretches lie within those that follow and none is left without a reading.
    this.spacing ||= least;
    while (this.spacing < least) this.spacing *= 2;
    let kept = -1;
    let stretch = NaN;
    for (let i = 0; i < old; i++) {
      const own = Math.floor(times[i] / this.spacing);
      if (own === stretch && !(values[i] > values[kept])) continue;
      if (own !== stretch) kept += 1;
      stretch = own;
      times[kept] = times[i];
      values[kept] = values[i];
    }
    times.copyWithin(kept + 1, old, this.count);
    values.copyWithin(kept + 1, old, this.count);
    this.count -= old - kept - 1;
  }

  #grow() {
    const times = new Float64Array(this.count * 2);
    const values = new Float32Array(this.count * 2);
    times.set(this.times);
    values.set(this.values);
    Object.assign(this, { times, values });
  }
}

export class Samples {
  constructor(limit = READING_LIMIT) {
    this.limit = limit;
    this.lines = new Map();
    this.described = 0;
    this.version = 0;
  }

  describe(info) {
    Object.assign(this.#line(info.series).info, info);
    this.described += 1;
  }

  apply(frame, origin) {
    const c = frame.columns;
    const times = relative(frame, c.time, origin);
    for (let i = 0; i < frame.count; i++) {
      const line = this.#line(c.series[i]);
      line.add(times[i], c.value[i]);
      if (line.count > this.each) line.thin(this.each);
    }
    this.version += 1;
  }

  /** How many readings each series may keep. */
  get each() {
    return clamp(Math.floor(this.limit / this.lines.size), FEWEST, MOST);
  }

  /** Highest reading of the given series, or NaN. */
  peak(ids) {
    let highest = NaN;
    for (const id of ids) {
      const line = this.lines.get(id);
      if (line.highest > highest || Number.isNaN(highest)) highest = line.highest;
    }
    return highest;
  }

  #line(id) {
    if (!this.lines.has(id)) this.lines.set(id, new Line());
    return this.lines.get(id);
  }
}
