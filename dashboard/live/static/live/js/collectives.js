// How long ranks waited in collectives: what each spent in one beyond the rank that spent least, without any clock.

import { FLAG } from "./frames.js";

// Collectives of all with all, which end together. Of rooted ones durations alone do not tell.
const NAMES = new Set(["allreduce", "allgather", "reducescatter"]);
const FAILED = FLAG.ERROR | FLAG.ABORTED;
export const ROUND_LIMIT = 20_000;
// Settling takes one part in so many of the page's time.
const SHARE = 20;
const ROUNDS_KEPT = 64;

/** The parts of one phase as they met: the first of each rank, the second ...; none where a rank's are not all known. */
function meetingsOf(ranks, phase) {
  const columns = ranks.map(({ lane, parts }) => parts.filter((i) => lane.spans.phase[i] === phase).map((index) => ({ lane, index })));
  const count = columns[0]?.length ?? 0;
  if (ranks.length < 2 || columns.some((column) => column.length !== count)) return [];
  const met = Array.from({ length: count }, (_, k) => columns.map((column) => column[k]));
  return met.filter((parts) => !parts.some(({ lane, index }) => lane.spans.flags[index] & FAILED));
}

const length = ({ lane, index }) => lane.spans.end[index] - lane.spans.start[index];

const leastOf = (parts) => parts.reduce((least, part) => (length(part) < length(least) ? part : least));

export class Collectives {
  constructor(limit = ROUND_LIMIT) {
    Object.assign(this, { limit, phases: new Set(), reach: new Map(), stale: new Set(), version: 0, settled: 0, notBefore: 0, known: new Map() });
  }

  /** Takes the name of a phase. */
  describe({ phase, name, kind }) {
    if (kind === "transfer" && NAMES.has(name)) this.phases.add(phase);
  }

  /** A phase has come: what is known of its round may change, and where others stand in their lanes. */
  note(phase, round, start, end) {
    this.version += 1;
    if (round < 0 || !this.phases.has(phase)) return;
    const reach = this.reach.get(round);
    this.reach.set(round, reach ? { from: Math.min(reach.from, start), to: Math.max(reach.to, end) } : { from: start, to: end });
    this.stale.add(round);
    if (this.reach.size > this.limit) this.reach.delete(this.reach.keys().next().value);
  }

  /** Writes into the spans how long each waited; false where it is put off, so as not to hold the page up. */
  settle(lanes) {
    const began = performance.now();
    if (!this.stale.size) return true;
    if (began < this.notBefore) return false;
    for (const round of this.stale) {
      this.#forget(lanes, round);
      for (const met of this.#meetings(lanes, round)) {
        const least = length(leastOf(met));
        for (const part of met) part.lane.spans.wait[part.index] = length(part) - least;
      }
    }
    this.stale.clear();
    this.settled += 1;
    this.notBefore = performance.now() + (performance.now() - began) * SHARE;
    return true;
  }

  /** Of a phase in a collective: {waited, moved} in ns, the `least` lane and the longest wait for it; null for others. */
  of(lanes, lane, index) {
    if (!this.phases.has(lane.spans.phase[index])) return null;
    const met = this.#of(lanes, lane.spans.round[index]).find((parts) => parts.some((part) => part.lane === lane && part.index === index));
    if (!met) return null;
    const least = leastOf(met);
    const waited = length({ lane, index }) - length(least);
    return { waited, moved: length(least), least: least.lane, longest: Math.max(...met.map(length)) - length(least) };
  }

  /** Who waited least in a round's collectives: {least, most: lanes, waited: ns more of the most, ranks}, by cohort. */
  ofRound(lanes, round) {
    const sums = new Map();
    for (const met of this.#of(lanes, round)) {
      const least = length(leastOf(met));
      const group = met[0].lane.info.group ?? "";
      if (!sums.has(group)) sums.set(group, new Map());
      const known = sums.get(group);
      for (const part of met) known.set(part.lane, (known.get(part.lane) ?? 0) + length(part) - least);
    }
    return [...sums.values()].map((byLane) => {
      const all = [...byLane];
      const [least, none] = all.reduce((known, other) => (other[1] < known[1] ? other : known));
      const [most, longest] = all.reduce((known, other) => (other[1] > known[1] ? other : known));
      return { least, most, waited: longest - none, ranks: all.length };
    }).sort((a, b) => b.waited - a.waited);
  }

  /** What was said of a round before more of it came: another rank may have been last, or a part be missing now. */
  #forget(lanes, round) {
    const { from, to } = this.reach.get(round) ?? { from: 0, to: 0 };
    for (const { spans } of lanes.values()) {
      spans.each(from, to, (i) => {
        if (spans.round[i] === round) spans.wait[i] = 0;
      });
    }
  }

  #of(lanes, round) {
    if (this.known.version !== this.version || this.known.size > ROUNDS_KEPT) this.known = Object.assign(new Map(), { version: this.version });
    if (!this.known.has(round)) this.known.set(round, this.#meetings(lanes, round));
    return this.known.get(round);
  }

  /** The collectives of a round, each as parts {lane, index}; cohorts reduce apart. */
  #meetings(lanes, round) {
    const reach = this.reach.get(round);
    const cohorts = new Map();
    for (const lane of reach ? lanes.values() : []) {
      const rank = lane.info.role === "trainer" && this.#partsOf(lane, round, reach);
      if (!rank) continue;
      const group = lane.info.group ?? "";
      if (!cohorts.has(group)) cohorts.set(group, []);
      cohorts.get(group).push(rank);
    }
    return [...cohorts.values()].flatMap((ranks) => [...this.phases].flatMap((phase) => meetingsOf(ranks, phase)));
  }

  /** A lane's parts in the collectives of a round, of the newest attempt at it; null where it took no part in the round. */
  #partsOf(lane, round, { from, to }) {
    const { spans } = lane;
    let newest = -1;
    let parts = [];
    spans.each(from, to, (i) => {
      if (spans.round[i] !== round) return;
      if (spans.attempt[i] > newest) [newest, parts] = [spans.attempt[i], []];
      if (spans.attempt[i] === newest && this.phases.has(spans.phase[i])) parts.push(i);
    });
    return newest < 0 && !lane.open.some((open) => open.round === round) ? null : { lane, parts };
  }
}
