// One worker on the page: what is said of it, its ended and open phases, and its records that were lost.

import { LaneSpans } from "./spans.js";

export const GAP_LIMIT = 2000;

export class Lane {
  constructor(index) {
    this.index = index;
    this.info = { lane: index, name: `worker ${index}`, role: "trainer", state: "running" };
    this.spans = new LaneSpans();
    this.open = [];
    this.gaps = [];
  }

  /** Takes a gap {begin, end, count, attempt} that it does not know. */
  lose(gap) {
    if (this.gaps.some((known) => known.begin === gap.begin && known.attempt === gap.attempt)) return;
    this.gaps.push(gap);
    if (this.gaps.length > GAP_LIMIT) this.gaps = this.gaps.sort((a, b) => a.begin - b.begin).slice(GAP_LIMIT / 10);
  }

  /** All its phases that are known, ended and open, in order: {attempt, id, start, end}. */
  phases() {
    const { spans, open } = this;
    spans.settle();
    const ended = Array.from({ length: spans.count }, (_, i) => ({ attempt: spans.attempt[i], id: spans.id[i], start: spans.start[i], end: spans.end[i] }));
    return [...ended, ...open].sort((a, b) => a.start - b.start || a.id - b.id);
  }

  /** Forgets what ended before `time`. */
  dropBefore(time) {
    this.gaps = this.gaps.filter((gap) => !(gap.end < time));
    this.spans.dropBefore(time);
  }
}
