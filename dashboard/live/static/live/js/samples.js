// Readings over time: one pair of growing columns for each series, in order of time and without repetition.

import { relative } from "./frames.js";

class Line {
  constructor() {
    this.info = {};
    this.count = 0;
    this.times = new Float64Array(64);
    this.values = new Float32Array(64);
  }

  add(time, value) {
    let at = this.count;
    while (at > 0 && this.times[at - 1] > time) at -= 1;
    if (at > 0 && this.times[at - 1] === time) return;
    if (this.count === this.times.length) this.#grow();
    this.times.copyWithin(at + 1, at, this.count);
    this.values.copyWithin(at + 1, at, this.count);
    this.times[at] = time;
    this.values[at] = value;
    this.count += 1;
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

  #grow() {
    const times = new Float64Array(this.count * 2);
    const values = new Float32Array(this.count * 2);
    times.set(this.times);
    values.set(this.values);
    Object.assign(this, { times, values });
  }
}

export class Samples {
  constructor() {
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
    for (let i = 0; i < frame.count; i++) this.#line(c.series[i]).add(times[i], c.value[i]);
    this.version += 1;
  }

  /** Highest reading of the given series, or NaN. */
  peak(ids) {
    let highest = NaN;
    for (const id of ids) {
      const line = this.lines.get(id);
      for (let i = 0; i < line.count; i++) if (!(line.values[i] <= highest)) highest = line.values[i];
    }
    return highest;
  }

  #line(id) {
    if (!this.lines.has(id)) this.lines.set(id, new Line());
    return this.lines.get(id);
  }
}
