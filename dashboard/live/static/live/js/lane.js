// One worker on the page: what is said of it, its ended and open phases, its events, and its records that were lost.

import { firstAt } from "./instants.js";
import { LaneSpans } from "./spans.js";

export const GAP_LIMIT = 2000;
export const EVENT_LIMIT = 2000;

export class Lane {
  constructor(index) {
    this.index = index;
    this.info = { lane: index, name: `worker ${index}`, role: "trainer", state: "running" };
    this.spans = new LaneSpans();
    this.open = [];
    this.gaps = [];
    this.events = [];
  }

  /** Takes an event {attempt, id, start, round, phase, thread} that is new; the oldest of very many leave. */
  happen(event) {
    this.events.splice(firstAt(this.events, event.start), 0, event);
    if (this.events.length > EVENT_LIMIT) this.events.splice(0, EVENT_LIMIT / 10);
  }

  /** Takes a gap {begin, end, count, attempt} that it does not know. */
  lose(gap) {
    if (this.gaps.some((known) => known.begin === gap.begin && known.attempt === gap.attempt)) return;
    this.gaps.push(gap);
    if (this.gaps.length > GAP_LIMIT) this.gaps = this.gaps.sort((a, b) => a.begin - b.begin).slice(GAP_LIMIT / 10);
  }

  /** All its phases, ended and open, and events in order: {attempt, id, start, end}. */
  phases() {
    const { spans, open, events } = this;
    spans.settle();
    const ended = Array.from({ length: spans.count }, (_, i) => ({ attempt: spans.attempt[i], id: spans.id[i], start: spans.start[i], end: spans.end[i] }));
    const instants = events.map((event) => ({ ...event, end: event.start }));
    return [...ended, ...open, ...instants].sort((a, b) => a.start - b.start || a.id - b.id);
  }

  /** Forgets what ended before `time`. */
  dropBefore(time) {
    this.gaps = this.gaps.filter((gap) => !(gap.end < time));
    this.events = this.events.filter((event) => event.start >= time);
    this.spans.dropBefore(time);
  }
}

/** When the oldest tenth of the lanes' ended phases has begun, judged by one in 64. */
export function afterOldestTenth(lanes) {
  const starts = [];
  for (const { spans } of lanes) for (let i = 0; i < spans.count; i += 64) starts.push(spans.start[i]);
  return starts.sort((a, b) => a - b)[Math.floor(starts.length / 10)];
}
