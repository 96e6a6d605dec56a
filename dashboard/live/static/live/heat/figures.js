// The figures behind a heat map: seconds by worker and round, what each is compared with, and what colour a ratio has.

import { clamp } from "../js/arithmetic.js";
import { channels } from "../js/theme.js";
import { natural } from "../js/format.js";

// Ratios beyond it, and below one part in so many, look alike; they are told in figures.
export const MOST_RATIO = 4;
export const TICKS = [1 / MOST_RATIO, 0.5, 1, 2, MOST_RATIO];

/** Little-endian float32 in base64. */
export function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** The lower median of values in order, NaN of none: what somebody took, also where there are two. */
function middle(ordered) {
  return ordered.length ? ordered[(ordered.length - 1) >> 1] : NaN;
}

export class Figures {
  /** `answer` is what the server says: {phase, workers, rounds, seconds, earlier, later}. */
  constructor({ phase, workers, rounds, seconds, earlier, later }) {
    Object.assign(this, { phase, workers, rounds, earlier, later, seconds: decoded(seconds) });
    const column = (at) => Float32Array.from(workers, (_, row) => this.seconds[row * rounds.length + at]).filter((value) => !Number.isNaN(value));
    this.ordered = rounds.map((_, at) => column(at).sort());
    this.counts = this.ordered.map((values) => values.length);
    this.medians = this.ordered.map(middle);
  }

  get empty() {
    return !this.counts.some((count) => count > 0);
  }

  at(row, column) {
    return this.seconds[row * this.rounds.length + column];
  }

  /** The lower median of the others' seconds in that round, by which stragglers are judged too; NaN without others. */
  reference(row, column) {
    const ordered = this.ordered[column];
    const seconds = this.at(row, column);
    if (Number.isNaN(seconds) || ordered.length < 2) return NaN;
    // Without one that stands there or before it, the next is in the middle of those left.
    const middle = (ordered.length - 2) >> 1;
    return ordered[seconds > ordered[middle] ? middle : middle + 1];
  }

  /** A cell's seconds over those of its reference; NaN without either, or where both are 0. */
  ratio(row, column) {
    return this.at(row, column) / this.reference(row, column);
  }

  /** The ratio that a cell's colour tells: even where there is nothing to compare with; NaN without seconds. */
  shade(row, column) {
    const ratio = this.ratio(row, column);
    return Number.isNaN(ratio) && !Number.isNaN(this.at(row, column)) ? 1 : ratio;
  }

  /** Places of workers as they are drawn from the top: by name, or by the mean of their ratios, greatest first. */
  order(by) {
    const places = this.workers.map((_, place) => place);
    const byName = (a, b) => natural(this.workers[a], this.workers[b]) || a - b;
    if (by !== "slowest") return places.sort(byName);
    const means = places.map((row) => {
      const ratios = this.rounds.map((_, column) => this.ratio(row, column)).filter((ratio) => !Number.isNaN(ratio));
      return ratios.length ? ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length : -1;
    });
    return places.sort((a, b) => means[b] - means[a] || byName(a, b));
  }
}

/** Colours from quick to slow: [log2 of the ratio, channels]; `theme` has low, even, high and highest. */
export function scaleOf({ low, even, high, highest }) {
  const most = Math.log2(MOST_RATIO);
  return [[-most, channels(low)], [0, channels(even)], [most / 2, channels(high)], [most, channels(highest)]];
}

/** The channels of a ratio, which is cut to 1 / MOST_RATIO .. MOST_RATIO; null where there is none. */
export function colourOf(ratio, scale) {
  if (Number.isNaN(ratio)) return null;
  const at = Math.log2(clamp(ratio, 1 / MOST_RATIO, MOST_RATIO));
  const next = scale.findIndex(([place]) => place >= at);
  if (next <= 0) return scale[0][1];
  const [[from, one], [to, other]] = [scale[next - 1], scale[next]];
  const part = (at - from) / (to - from);
  return one.map((value, i) => Math.round(value + (other[i] - value) * part));
}

/** A ratio as people read it: "8.2 ×". */
export function ratioText(ratio) {
  if (!Number.isFinite(ratio)) return ratio === Infinity ? "∞\u00a0×" : "–";
  return `${ratio < 9.95 ? ratio.toFixed(2) : ratio.toFixed(ratio < 99.5 ? 1 : 0)}\u00a0×`;
}
