// The figures behind a heat map: seconds by worker and round, each round's median, and what colour a ratio has.

import { channels } from "../js/theme.js";
import { natural } from "../js/format.js";

// Ratios beyond these look alike; they are told in figures.
export const MOST_RATIO = 4;
export const TICKS = [0.25, 0.5, 1, 2, 4];

/** Little-endian float32 in base64. */
export function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function middle(values) {
  if (!values.length) return NaN;
  values.sort();
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

export class Figures {
  /** `answer` is what the server says: {phase, workers, rounds, seconds, earlier, later}. */
  constructor({ phase, workers, rounds, seconds, earlier, later }) {
    Object.assign(this, { phase, workers, rounds, earlier, later, seconds: decoded(seconds) });
    const column = (at) => Float32Array.from(workers, (_, row) => this.seconds[row * rounds.length + at]).filter((value) => !Number.isNaN(value));
    const columns = rounds.map((_, at) => column(at));
    this.counts = columns.map((values) => values.length);
    this.medians = columns.map(middle);
  }

  get empty() {
    return !this.counts.some((count) => count > 0);
  }

  at(row, column) {
    return this.seconds[row * this.rounds.length + column];
  }

  /** A cell's seconds over its round's median; NaN without either. */
  ratio(row, column) {
    const median = this.medians[column];
    return median > 0 ? this.at(row, column) / median : NaN;
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
  return [[-2, channels(low)], [0, channels(even)], [1, channels(high)], [2, channels(highest)]];
}

/** The channels of a ratio, which is cut to 1/4 .. 4; null where there is none. */
export function colourOf(ratio, scale) {
  if (Number.isNaN(ratio)) return null;
  const at = Math.min(2, Math.max(-2, Math.log2(Math.max(ratio, 1 / 16))));
  const next = scale.findIndex(([place]) => place >= at);
  if (next <= 0) return scale[0][1];
  const [[from, one], [to, other]] = [scale[next - 1], scale[next]];
  const part = (at - from) / (to - from);
  return one.map((value, i) => Math.round(value + (other[i] - value) * part));
}

/** A ratio as people read it: "8.2 ×". */
export function ratioText(ratio) {
  if (!Number.isFinite(ratio)) return "–";
  return `${ratio < 9.95 ? ratio.toFixed(2) : ratio.toFixed(ratio < 99.5 ? 1 : 0)}\u00a0×`;
}
