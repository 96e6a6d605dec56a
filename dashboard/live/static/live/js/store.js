// Everything this page knows of a run, kept from the frames it was sent; times in ns since `origin`.

import { Collectives } from "./collectives.js";
import { ENDED, FLAG, STATES, TYPE, relative } from "./frames.js";
import { Lane, afterOldestTenth } from "./lane.js";
import { Marks } from "./marks.js";
import { Rounds } from "./rounds.js";
import { Samples } from "./samples.js";
import { Seen } from "./seen.js";

export { GAP_LIMIT } from "./lane.js";
export const SPAN_LIMIT = 1_000_000;
export const STALE_NS = 10e9;

export class Store {
  constructor(limit = SPAN_LIMIT) {
    Object.assign(this, { limit, version: 0, structure: 0 });
    this.reset();
  }

  /** Forgets everything, as a new snapshot asks. */
  reset() {
    Object.assign(this, { origin: null, run: {}, phases: [], dropped: 0, rejected: 0, total: 0 });
    Object.assign(this, { latest: -Infinity, recorded: -Infinity, earliest: Infinity, forgotten: -Infinity, olderFrom: null });
    this.lanes = new Map();
    this.attempts = new Map();
    this.seen = new Seen();
    this.marks = new Marks();
    this.rounds = new Rounds();
    this.samples = new Samples();
    this.collectives = new Collectives();
    Object.assign(this, { structure: this.structure + 1, version: this.version + 1 });
  }

  /** Takes the frames of one message or snapshot. */
  apply(frames) {
    for (const frame of frames) if (frame.type === TYPE.META) this.#meta(frame.json);
    for (const frame of frames) {
      if (this.origin === null && frame.base > 0n) this.origin = frame.base;
      if (frame.type === TYPE.SPAN) this.#spans(frame);
      else if (frame.type === TYPE.STEP) this.rounds.apply(frame, this.origin);
      else if (frame.type === TYPE.SAMPLE) this.samples.apply(frame, this.origin);
      else if (frame.type === TYPE.GAP) this.#gaps(frame);
      else if (frame.type === TYPE.EVENT) this.#events(frame);
      else if (frame.type === TYPE.FINDING) for (const finding of frame.json) this.marks.put(finding, this.lanes);
    }
    this.#openPhases(frames);
    if (this.total > this.limit) this.#forget();
    this.version += 1;
  }

  /** When the run's phases begin: the first of them here, or of those that are still to come. */
  get begun() {
    return this.olderFrom === null ? this.earliest : Math.min(this.earliest, this.fromUnix(this.olderFrom));
  }

  get ended() {
    return ENDED.has(this.run.state);
  }

  lane(index) {
    if (!this.lanes.has(index)) {
      this.lanes.set(index, new Lane(index));
      this.structure += 1;
    }
    return this.lanes.get(index);
  }

  phase(index) {
    return this.phases[index] ?? { phase: index, name: `phase ${index}`, kind: "other" };
  }

  attempt(index) {
    if (!this.attempts.has(index)) {
      this.attempts.set(index, { attempt: index, heard: NaN, number: -1, error: NaN, state: "running" });
    }
    return this.attempts.get(index);
  }

  /** Lets open phases grow to `now`, but no further than 10 s after they were last heard of. */
  grow(now) {
    for (const lane of this.lanes.values()) {
      for (const open of lane.open) {
        const attempt = this.attempt(open.attempt);
        const alive = attempt.state === "running" || attempt.state === "stale";
        const limit = alive ? attempt.heard + STALE_NS : attempt.heard;
        open.stale = now > limit;
        open.end = Math.max(open.start, Math.min(now, limit));
      }
    }
  }

  toUnix(time) {
    return (this.origin ?? 0n) + BigInt(Math.round(time));
  }

  fromUnix(time) {
    return Number(BigInt(time) - (this.origin ?? 0n));
  }

  #meta(meta) {
    Object.assign(this.run, meta.run);
    for (const info of meta.lanes ?? []) Object.assign(this.lane(info.lane).info, info);
    for (const attempt of meta.attempts ?? []) Object.assign(this.attempt(attempt.attempt), attempt);
    for (const phase of meta.phases ?? []) {
      this.phases[phase.phase] = phase;
      this.collectives.describe(phase);
    }
    for (const series of meta.series ?? []) this.samples.describe(series);
    if (meta.amber) this.marks.suspect(meta.amber, this.lanes);
    this.dropped = meta.dropped ?? this.dropped;
    this.rejected = meta.rejected ?? this.rejected;
    this.olderFrom = meta.older_from_ns ?? this.olderFrom;
    if (meta.run || meta.lanes || meta.series) this.structure += 1;
  }

  #spans(frame) {
    const c = frame.columns;
    const starts = relative(frame, c.start, this.origin);
    for (let i = 0; i < frame.count; i++) {
      if (!this.seen.add(c.attempt[i], c.id[i])) continue;
      const end = starts[i] + c.duration[i] * frame.unit;
      const flags = c.flags[i] | (this.marks.has(c.attempt[i], c.id[i]) ? FLAG.SLOW : 0);
      const lane = this.lane(c.lane[i]);
      lane.spans.add(starts[i], end, c.id[i], c.round[i], c.attempt[i], c.phase[i], flags, c.thread[i]);
      this.collectives.note(c.phase[i], c.round[i], starts[i], end);
      if (lane.open.length) lane.open = lane.open.filter((open) => open.id !== c.id[i] || open.attempt !== c.attempt[i]);
      if (end > this.latest) this.latest = end;
      if (end > this.recorded) this.recorded = end;
      if (starts[i] < this.earliest) this.earliest = starts[i];
      this.total += 1;
    }
  }

  #events(frame) {
    const c = frame.columns;
    const times = relative(frame, c.time, this.origin);
    for (let i = 0; i < frame.count; i++) {
      if (!this.seen.add(c.attempt[i], c.id[i])) continue;
      if (times[i] > this.recorded) this.recorded = times[i];
      this.lane(c.lane[i]).happen({ attempt: c.attempt[i], id: c.id[i], start: times[i], round: c.round[i], phase: c.phase[i], thread: c.thread[i] });
    }
  }

  #gaps(frame) {
    const c = frame.columns;
    const [begin, end] = [c.begin, c.end].map((times) => relative(frame, times, this.origin));
    for (let i = 0; i < frame.count; i++) {
      this.lane(c.lane[i]).lose({ begin: begin[i], end: end[i], count: c.count[i], attempt: c.attempt[i] });
    }
  }

  /** A message's list of open phases replaces what is known of each attempt it names, unless it is older. */
  #openPhases(frames) {
    const fresh = new Set();
    for (const frame of frames) if (frame.type === TYPE.HEARTBEAT) this.#heartbeats(frame, fresh);
    if (!fresh.size) return;
    for (const lane of this.lanes.values()) lane.open = lane.open.filter((open) => !fresh.has(open.attempt));
    for (const frame of frames) if (frame.type === TYPE.OPEN) this.#opened(frame, fresh);
  }

  #heartbeats(frame, fresh) {
    const c = frame.columns;
    const heard = relative(frame, c.heard, this.origin);
    for (let i = 0; i < frame.count; i++) {
      const attempt = this.attempt(c.attempt[i]);
      if (c.number[i] < attempt.number) continue;
      fresh.add(c.attempt[i]);
      Object.assign(attempt, { number: c.number[i], lane: c.lane[i], state: STATES[c.state[i]], error: c.error_us[i] * 1e3 });
      if (heard[i] > attempt.heard || Number.isNaN(attempt.heard)) attempt.heard = heard[i];
      if (heard[i] > this.latest) this.latest = heard[i];
    }
  }

  #opened(frame, fresh) {
    const c = frame.columns;
    const starts = relative(frame, c.start, this.origin);
    for (let i = 0; i < frame.count; i++) {
      if (!fresh.has(c.attempt[i]) || this.seen.has(c.attempt[i], c.id[i])) continue;
      const open = { id: c.id[i], attempt: c.attempt[i], start: starts[i], end: starts[i], round: c.round[i], stale: false };
      this.lane(c.lane[i]).open.push({ ...open, phase: c.phase[i], thread: c.thread[i], progress: c.progress[i], flags: this.marks.ofOpen(open.attempt, open.id) });
    }
    for (const lane of this.lanes.values()) lane.open.sort((a, b) => a.start - b.start || a.id - b.id);
  }

  /** Lets the oldest tenth go, and with it the memory of having seen it. */
  #forget() {
    const cut = afterOldestTenth(this.lanes.values());
    this.seen = new Seen(1 << Math.ceil(Math.log2(this.limit * 2)));
    this.total = 0;
    for (const lane of this.lanes.values()) {
      const { spans } = lane;
      lane.dropBefore(cut);
      this.total += spans.count;
      for (let i = 0; i < spans.count; i++) this.seen.add(spans.attempt[i], spans.id[i]);
      for (const { attempt, id } of lane.events) this.seen.add(attempt, id);
    }
    Object.assign(this, { forgotten: cut, earliest: cut, olderFrom: null });
  }
}
