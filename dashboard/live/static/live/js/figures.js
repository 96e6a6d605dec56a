// The key figures of a run: value, what stands beside it, and its definition, denominator and number of rounds.

import { mean } from "./arithmetic.js";
import { age, bytes, duration, isolated, plural, share } from "./format.js";
import { KINDS } from "./frames.js";
import { kindSeconds } from "./kinds.js";
import { STALE_NS } from "./store.js";
import { capital, wordsOf } from "./words.js";

const BEFORE = 10;
// Beyond that many a model is too small for its copies to tell anything.
const MOST_COPIES = 50;
// The share of a round that phases may leave unexplained without a word.
const UNEXPLAINED = 0.05;
const ENDED = new Set(["finished", "failed", "killed"]);
const roleOf = (store, role) => [...store.lanes.values()].filter((lane) => lane.info.role === role);

const count = (value) => value.toLocaleString("en");

/** Which phase most trainers are in now, as "4 of 4 in train"; "" without any. */
export function commonPhase(store) {
  const trainers = roleOf(store, "trainer");
  const inPhase = new Map();
  for (const { open } of trainers) {
    const inner = open.at(-1);
    if (inner && !inner.stale) inPhase.set(inner.phase, (inPhase.get(inner.phase) ?? 0) + 1);
  }
  const [phase, members] = [...inPhase].sort((a, b) => b[1] - a[1])[0] ?? [];
  return members ? `${count(members)} of ${count(trainers.length)} in ${isolated(store.phase(phase).name)}` : "";
}

function roundFigure(store) {
  const { newest, newestClosed } = store.rounds;
  const { rounds_planned: planned } = store.run;
  const { round, worker, trainer } = wordsOf(store);
  const done = [count((newestClosed?.index ?? -1) + 1), planned ? `of ${count(planned)}` : ""].filter(Boolean).join(" ");
  const definition = `The newest ${round} that any ${worker} has begun, numbered from 0; how many ${round}s are done, of those planned; and the phase that most ${trainer}s are in now.`;
  if (store.ended) return { label: `${capital(round)}s`, value: done, detail: "done", definition };
  return { label: `In ${round}`, value: newest ? String(newest.index) : "–", detail: [`· ${done} done`, commonPhase(store)].filter(Boolean).join(" · "), definition };
}

function timeFigure(store) {
  const closed = store.rounds.closed();
  const last = closed.at(-1);
  const { round, worker } = wordsOf(store);
  return {
    label: `${capital(round)} time, median`, value: duration(store.rounds.medianWall()),
    detail: last ? `${round} ${last.index}: ${duration(last.end - last.begin)}` : `no ${round} has closed yet`,
    definition: `From a ${round}'s begin on its first ${worker} to its end on its last. The median of ${plural(closed.length, `closed ${round}`)}.`,
  };
}

function waitingFigure(store, much) {
  const judged = store.rounds.closed().filter((round) => Number.isFinite(round.waiting));
  const last = judged.at(-1);
  const before = judged.slice(-1 - BEFORE, -1);
  const { round, trainer } = wordsOf(store);
  const detail = last ? [`of ${round} ${last.index}`, before.length ? `${share(mean(before.map((round) => round.waiting)))} before` : ""] : [];
  return {
    label: "GPU waiting", value: last ? share(last.waiting) : "–", detail: detail.filter(Boolean).join(" · "),
    tone: last && last.waiting >= much ? "warn" : "",
    definition: `The part of a ${round} in which a ${trainer} is in no compute phase: wall time less the union of its compute phases, over the wall time. The mean of ${plural(last?.trainers ?? 0, trainer)} in the last closed ${round}; before it, the mean of ${plural(before.length, round)}.`,
  };
}

function longestFigure(store) {
  const { round, worker, trainer } = wordsOf(store);
  const definition = `The kind other than computing and waiting on which the ${trainer}s of the last closed ${round} spent most, as their mean; “not recorded” where more of their time than that lies in no phase; and the slow phase that was found in that ${round}, with its ${worker}s. Where waiting in collectives took longer than any of these, the ${worker} that waited least in them, and how much longer another did.`;
  const label = "Waited longest for";
  const last = store.rounds.newestClosed;
  if (!last) return { label, value: "–", detail: "", definition };
  const finding = store.marks.ofRound(last.index).find((one) => one.phase);
  const more = finding ? `slow: ${[finding.phase, ...(finding.workers ?? [])].map(isolated).join(", ")}` : "";
  const tone = finding ? "warn" : "";
  const { seconds, trainers } = kindSeconds(store, last);
  const skipped = new Set(["compute", "wait"]);
  const longest = seconds.map((value, i) => ({ kind: KINDS[i], value })).filter(({ kind }) => !skipped.has(kind)).sort((a, b) => b.value - a.value)[0];
  const [met] = store.collectives.ofRound(store.lanes, last.index);
  if (met && met.waited > longest.value * 1e9) {
    return { label, value: isolated(met.least.info.name), detail: `${duration(met.waited)} in ${round} ${last.index}`, more, tone, definition };
  }
  const wall = (last.end - last.begin) / 1e9;
  const rest = wall - seconds.reduce((sum, value) => sum + value, 0);
  if (trainers && rest > Math.max(longest.value, wall * UNEXPLAINED)) {
    return { label, value: "not recorded", detail: `${duration(rest * 1e9)} in ${round} ${last.index}`, more: more || "phases around it would tell", tone, definition };
  }
  if (!longest.value) return { label, value: "–", detail: "", more, tone, definition };
  return { label, value: longest.kind, detail: `${duration(longest.value * 1e9)} in ${round} ${last.index}`, more, tone, definition };
}

function memoryFigure(store) {
  const owners = roleOf(store, "coordinator").length ? "coordinator" : "trainer";
  const lanes = new Set(roleOf(store, owners).map((lane) => lane.index));
  const ids = [...store.samples.lines].filter(([, { info }]) => info.metric === "process_memory_bytes" && lanes.has(info.lane)).map(([id]) => id);
  const peak = store.samples.peak(ids);
  const copies = store.run.model_bytes ? peak / store.run.model_bytes : NaN;
  return {
    label: `${capital(owners === "coordinator" ? owners : wordsOf(store).trainer)} memory, peak`, value: bytes(peak),
    detail: copies <= MOST_COPIES ? `≥ ${copies.toFixed(1)} model copies` : "",
    definition: `The highest reading of anonymous and shared memory of the process in what this page has loaded, taken each second or two and at ${wordsOf(store).round} boundaries; a peak between two readings may be higher. A model copy is the model's size as the run gave it.`,
  };
}

function dataFigure(store, now) {
  const lanes = [...store.lanes.values()];
  const going = lanes.filter((lane) => !ENDED.has(lane.info.state));
  const attempts = [...store.attempts.values()];
  const live = attempts.filter((attempt) => now - attempt.heard < STALE_NS && !ENDED.has(attempt.state));
  const heard = Math.max(...attempts.map((attempt) => attempt.heard).filter(Number.isFinite));
  const error = Math.max(...live.map((attempt) => attempt.error).filter(Number.isFinite));
  const more = [`${count(store.dropped)} dropped`];
  if (store.rejected) more.push(`${count(store.rejected)} rejected`);
  if (going.length && Number.isFinite(heard)) more.push(`${age(now - heard)} old`);
  if (Number.isFinite(error)) more.push(`±\u00a0${duration(error)}`);
  const reporting = new Set(live.map((attempt) => attempt.lane)).size;
  return {
    label: "Data", value: going.length ? `${count(reporting)} of ${count(going.length)}` : lanes.length ? count(lanes.length) : "–", detail: !lanes.length ? "" : going.length ? "reporting" : "ended", more: more.join(" · "),
    tone: going.length > reporting || store.dropped || store.rejected ? "warn" : "",
    definition: `${capital(wordsOf(store).worker)}s heard of within 10 s, of those that have not ended. Dropped: records that agents counted as lost; rejected: records the server could not read. How old the newest word is, and the largest error of the clocks of those that report.`,
  };
}

/**
 * All figures, each {label, value, detail, tone, definition}; `now` in ns since the store's origin, `much` the share of
 * waiting from which on it needs a look.
 */
export function figures(store, now, much) {
  return [roundFigure(store), timeFigure(store), waitingFigure(store, much), longestFigure(store), memoryFigure(store), dataFigure(store, now)];
}
