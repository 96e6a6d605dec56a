// Where the trainers' time of a round went, by kind: as the server computed it, or from the phases here until it has.

import { KINDS } from "./frames.js";

const NUMBER = Object.fromEntries(KINDS.map((kind, i) => [kind, i]));

/** Adds the leaf time (ns) of phases of one thread, in order of start, to `sums`: a nested phase takes its from its parent, and waiting in a collective is waiting. */
function addThread(phases, kindOf, sums) {
  const around = [];
  for (const phase of phases) {
    while (around.length && around.at(-1).end <= phase.start) around.pop();
    const parent = around.at(-1);
    const kind = parent?.kind === NUMBER.persist ? NUMBER.persist : kindOf(phase);
    const length = phase.end - phase.start;
    sums[kind] += length;
    if (phase.wait > 0) {
      sums[kind] -= phase.wait;
      sums[NUMBER.wait] += phase.wait;
    }
    if (parent) sums[parent.kind] -= Math.min(length, parent.end - phase.start);
    around.push({ end: phase.end, kind });
  }
}

function phasesOf(lane, round) {
  const { spans } = lane;
  const found = [];
  spans.each(round.begin, Number.isFinite(round.end) ? round.end : Infinity, (i) => {
    if (spans.round[i] === round.index) found.push({ start: spans.start[i], end: spans.end[i], phase: spans.phase[i], thread: spans.thread[i], id: spans.id[i], wait: spans.wait[i] });
  });
  for (const open of lane.open) if (open.round === round.index) found.push(open);
  return found.sort((a, b) => a.start - b.start || a.id - b.id);
}

function fromPhases(store, round) {
  const sums = new Float64Array(KINDS.length);
  let trainers = 0;
  for (const lane of store.lanes.values()) {
    if (lane.info.role !== "trainer") continue;
    const phases = phasesOf(lane, round);
    if (!phases.length) continue;
    trainers += 1;
    for (const thread of new Set(phases.map((phase) => phase.thread))) {
      const own = phases.filter((phase) => phase.thread === thread);
      addThread(own, (phase) => NUMBER[store.phase(phase.phase).kind] ?? NUMBER.other, sums);
    }
  }
  return { seconds: [...sums].map((sum) => (trainers ? sum / trainers / 1e9 : 0)), trainers, final: false };
}

/** Mean seconds by kind over the trainers of a round: {seconds: one per kind, trainers, final}. */
export function kindSeconds(store, round) {
  if (!Number.isNaN(round.kinds[0])) return { seconds: [...round.kinds], trainers: round.trainers, final: true };
  const stamp = round.closed ? `${store.version}/${store.collectives.settled}` : Math.floor(store.latest / 5e8);
  if (round.provisional?.stamp !== stamp) round.provisional = { stamp, ...fromPhases(store, round) };
  return round.provisional;
}

/** How long each lane was busy in a round, waiting left out (ns, by lane): what "slowest first" sorts by. */
export function busyTimes(store, round) {
  const busy = new Map();
  if (!round) return busy;
  for (const lane of store.lanes.values()) {
    const sums = new Float64Array(KINDS.length);
    addThread(phasesOf(lane, round), (phase) => NUMBER[store.phase(phase.phase).kind] ?? NUMBER.other, sums);
    busy.set(lane.index, sums.reduce((sum, value, kind) => (kind === NUMBER.wait ? sum : sum + value), 0));
  }
  return busy;
}
