// Paints one lane as one row of pixels: which phase each pixel shows, and which bars are wide enough to say more about.

import { FLAG } from "./frames.js";
import { BLOCK } from "./spans.js";

// Failed, slow and selected always win over healthy; within a rank the longest overlap wins, then the later start.
export const RANK = { HEALTHY: 0, SLOW: 1, FAILED: 2, SELECTED: 3 };

export function rankOf(flags) {
  if (flags & (FLAG.ERROR | FLAG.ABORTED)) return RANK.FAILED;
  return flags & FLAG.SLOW ? RANK.SLOW : RANK.HEALTHY;
}

/**
 * What a drawing needs from row to row: the window in ns, the pixels, the colours by phase and of waiting, the bars
 * found wide. What of a collective a rank only waited is a stretch of its own.
 */
export class Raster {
  constructor(width, { from, perPixel, colours, failed, waiting = 0, minimum = Infinity, selected = null }) {
    Object.assign(this, { width, from, perPixel, colours, failed, waiting, minimum, selected });
    this.score = new Float64Array(width);
    this.wide = [];
  }

  /** Fills `out` (Uint32Array of `width`, 0 where idle) with the lane's open phases and spans. */
  row(lane, out, row) {
    this.score.fill(-1);
    out.fill(0);
    for (const open of lane.open) this.#open(open, out, row);
    const spans = lane.spans;
    spans.settle();
    const { start, end, reach } = spans;
    const stop = spans.lowerBound(this.from + this.width * this.perPixel);
    for (let block = 0; block * BLOCK < stop; block++) {
      if (reach[block] < this.from) continue;
      const last = Math.min(stop, (block + 1) * BLOCK);
      for (let i = block * BLOCK; i < last; i++) if (end[i] >= this.from) this.#span(spans, start[i], end[i], i, out, row);
    }
  }

  #open(open, out, row) {
    if (!(open.end >= open.start) || open.end < this.from) return;
    const rank = this.#isSelected(open.attempt, open.id) ? RANK.SELECTED : rankOf(open.flags);
    this.#paint(open.start, open.end, rank, this.colours[open.phase], out);
    this.wide.push({ row, open, index: -1, rank, x0: this.#x(open.start), x1: this.#x(open.end) });
  }

  #span(spans, start, end, i, out, row) {
    const flags = spans.flags[i];
    const rank = this.#isSelected(spans.attempt[i], spans.id[i]) ? RANK.SELECTED : rankOf(flags);
    const failed = flags & (FLAG.ERROR | FLAG.ABORTED);
    const waited = spans.wait[i];
    if (waited > 0) this.#paint(start, start + waited, rank, this.waiting, out);
    this.#paint(start + waited, end, rank, failed ? this.failed : this.colours[spans.phase[i]], out);
    if (rank || end - start >= this.minimum * this.perPixel) {
      this.wide.push({ row, open: null, index: i, rank, x0: this.#x(start), x1: this.#x(end) });
    }
  }

  #x(time) {
    return (time - this.from) / this.perPixel;
  }

  #isSelected(attempt, id) {
    return this.selected !== null && this.selected.id === id && this.selected.attempt === attempt;
  }

  #paint(start, end, rank, colour, out) {
    const { score, width } = this;
    const x0 = this.#x(start);
    const x1 = this.#x(end);
    const first = Math.floor(x0);
    const last = Math.min(width - 1, Math.max(first, Math.ceil(x1) - 1));
    for (let pixel = Math.max(0, first); pixel <= last; pixel++) {
      const left = x0 > pixel ? x0 : pixel;
      const right = x1 < pixel + 1 ? x1 : pixel + 1;
      const points = rank * 2 + (right - left);
      if (points >= score[pixel]) {
        score[pixel] = points;
        out[pixel] = colour;
      }
    }
  }
}

/** The phase shown between two times of a lane, by the rule of the raster: {open} or {index}, or null. */
export function winner(lane, from, to, selected = null) {
  const raster = new Raster(1, { from, perPixel: to - from, colours: [], failed: 0, minimum: -1, selected });
  raster.row({ open: lane.open, spans: lane.spans }, new Uint32Array(1), 0);
  let best = null;
  let points = -1;
  for (const bar of raster.wide) {
    const overlap = Math.min(bar.x1, 1) - Math.max(bar.x0, 0);
    if (overlap < 0 || bar.rank * 2 + overlap < points) continue;
    points = bar.rank * 2 + overlap;
    best = bar;
  }
  return best;
}
