// Findings of the run, and which phases they mark.

import { FLAG } from "./frames.js";

const keyOf = (attempt, id) => attempt * 0x100000000 + id;

export class Marks {
  constructor() {
    this.findings = new Map();
    this.byPhase = new Map();
  }

  /** Takes a finding, new or changed, and marks its phases wherever they are already known. */
  put(finding, lanes) {
    this.findings.set(finding.id, finding);
    for (const [attempt, id, laneIndex] of finding.spans ?? []) {
      this.byPhase.set(keyOf(attempt, id), { finding: finding.id, lane: laneIndex });
      const lane = lanes.get(laneIndex);
      const index = lane ? lane.spans.find(attempt, id) : -1;
      if (index >= 0) lane.spans.flags[index] |= FLAG.SLOW;
      for (const open of lane?.open ?? []) if (open.id === id && open.attempt === attempt) open.flags |= FLAG.SLOW;
    }
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
    const cohorts = (mark && this.findings.get(mark.finding)?.evidence?.cohorts) ?? [];
    return cohorts.flatMap((cohort) => cohort.slow ?? []).find((slow) => slow.worker === worker) ?? null;
  }

  ofRound(round) {
    return [...this.findings.values()].filter((finding) => (finding.rounds ?? []).includes(round));
  }

  get open() {
    return [...this.findings.values()].filter((finding) => finding.state === "open");
  }
}
