// Findings of the run, and which phases they mark.

import { FLAG } from "./frames.js";

export const FINDING_LIMIT = 2000;
const NONE = [];

const keyOf = (attempt, id) => attempt * 0x100000000 + id;

export class Marks {
  constructor(limit = FINDING_LIMIT) {
    this.limit = limit;
    this.findings = new Map();
    this.byPhase = new Map();
    this.amber = new Set();
    this.byRound = null;
  }

  /** Takes which open phases last suspiciously long, [attempt, id, ...] each: all that do, and no others. */
  suspect(listed, lanes) {
    this.amber = new Set(listed.map(([attempt, id]) => keyOf(attempt, id)));
    for (const lane of lanes.values()) for (const open of lane.open) open.flags = this.ofOpen(open.attempt, open.id);
  }

  /** The flags of an open phase. */
  ofOpen(attempt, id) {
    return this.has(attempt, id) || this.amber.has(keyOf(attempt, id)) ? FLAG.SLOW : 0;
  }

  /** Takes a finding, new or changed, and marks its phases wherever they are already known. */
  put(finding, lanes) {
    this.findings.set(finding.id, finding);
    this.byRound = null;
    for (const [attempt, id, laneIndex] of finding.spans ?? []) {
      this.byPhase.set(keyOf(attempt, id), { finding: finding.id, lane: laneIndex });
      const lane = lanes.get(laneIndex);
      const index = lane ? lane.spans.find(attempt, id) : -1;
      if (index >= 0) lane.spans.flags[index] |= FLAG.SLOW;
      for (const open of lane?.open ?? []) if (open.id === id && open.attempt === attempt) open.flags |= FLAG.SLOW;
    }
    if (this.findings.size > this.limit) this.#forget();
  }

  /** Lets the oldest tenth go, those that are resolved first. */
  #forget() {
    const all = [...this.findings.values()];
    const leaving = [...all.filter((finding) => finding.state !== "open"), ...this.open].slice(0, Math.ceil(this.limit / 10));
    for (const { id } of leaving) this.findings.delete(id);
    for (const [key, mark] of this.byPhase) if (!this.findings.has(mark.finding)) this.byPhase.delete(key);
  }

  has(attempt, id) {
    return this.byPhase.size > 0 && this.byPhase.has(keyOf(attempt, id));
  }

  /** The finding that marks this phase, or null. */
  of(attempt, id) {
    return this.findings.get(this.byPhase.get(keyOf(attempt, id))?.finding) ?? null;
  }

  /** What a marked phase was compared with: {worker, seconds, reference_s, ratio, ...} of its finding, or null. */
  comparison(attempt, id, lanes) {
    const mark = this.byPhase.get(keyOf(attempt, id));
    const worker = mark && lanes.get(mark.lane)?.info.name;
    const { cohorts = [], slow = [] } = (mark && this.findings.get(mark.finding)?.evidence) ?? {};
    return [...cohorts.flatMap((cohort) => cohort.slow ?? []), ...slow].find((one) => one.worker === worker) ?? null;
  }

  ofRound(round) {
    this.byRound ??= this.#sorted();
    return this.byRound.get(round) ?? NONE;
  }

  #sorted() {
    const found = new Map();
    for (const finding of this.findings.values()) {
      for (const round of finding.rounds ?? []) found.set(round, [...(found.get(round) ?? []), finding]);
    }
    return found;
  }

  get open() {
    return [...this.findings.values()].filter((finding) => finding.state === "open");
  }
}
