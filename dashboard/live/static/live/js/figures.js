// The key figures of a run: value, what stands beside it, and its definition, denominator and number of rounds.

import { waitingRows, whoseText } from "./analysis.js";
import { mean } from "./arithmetic.js";
import { age, bytes, duration, isolated, plural, share } from "./format.js";
import { KINDS } from "./frames.js";
import { kindSeconds } from "./kinds.js";
import { STALE_NS } from "./store.js";
import { capital, wordsOf } from "./words.js";

const BEFORE = 10;
// Beyond that many a model is too small for its copies to tell anything.
const MOST_COPIES = 50;
// How far the round that figures speak of may be behind the last.
const BEHIND_NS = 10e9;
const MOST_BEHIND = 200;
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

const isJudged = (round) => Number.isFinite(round.waiting) || Number.isFinite(round.coverage);

/**
 * The round that figures speak of: the last closed one. Where rounds follow each other faster than they are judged and
 * analysed, the last of them of which more is known, so that all figures are of the same.
 */
function roundTold(store, analysis) {
  const last = store.rounds.newestClosed;
  const recent = store.rounds.closed().slice(-MOST_BEHIND).filter((round) => last.end - round.end < BEHIND_NS);
  return recent.findLast((round) => isJudged(round) && isOf(analysis, round)) ?? recent.findLast(isJudged) ?? last;
}

const isOf = (analysis, round) => analysis?.round === round.index && analysis.generation === round.generation;

function timeFigure(store, last) {
  const closed = store.rounds.closed();
  const { round, worker } = wordsOf(store);
  return {
    label: `${capital(round)} time, median`, value: duration(store.rounds.medianWall()),
    detail: last ? `${round} ${last.index}: ${duration(last.end - last.begin)}` : `no ${round} has closed yet`,
    definition: `From a ${round}'s begin on its first ${worker} to its end on its last. The median of ${plural(closed.length, `closed ${round}`)}.`,
  };
}

function waitingFigure(store, much, last) {
  const judged = store.rounds.closed().filter((round) => Number.isFinite(round.waiting) && round.index < last?.index);
  const before = judged.slice(-BEFORE);
  const { round, trainer } = wordsOf(store);
  const known = Number.isFinite(last?.waiting);
  const detail = last ? [`of ${round} ${last.index}`, before.length ? `${share(mean(before.map((round) => round.waiting)))} before` : ""] : [];
  return {
    label: "GPU waiting", value: known ? share(last.waiting) : last && !isJudged(last) ? "being computed" : "–", detail: detail.filter(Boolean).join(" · "),
    tone: known && last.waiting >= much ? "warn" : "",
    definition: `The part of a ${round} in which a ${trainer} is in no compute phase: wall time less the union of its compute phases, over the wall time. The mean of ${plural(last?.trainers ?? 0, trainer)} in the last closed ${round}; before it, the mean of ${plural(before.length, round)}.`,
  };
}

/** What GPUs waited for longest, as the inspector tells it of the same round; null where nothing was waited for. */
function attributed({ waiting, trainers }, words) {
  const [longest] = waitingRows(waiting, words, 0, Infinity).sort((a, b) => b.ns - a.ns);
  return longest?.ns > 0 && trainers ? { name: longest.name, ns: longest.ns / trainers, whose: whoseText(longest, words) } : null;
}

function longestFigure(store, last, answer) {
  const words = wordsOf(store);
  const { round, worker, trainer } = words;
  const waited = {
    label: "Waited longest for",
    definition: `What the GPUs of the ${trainer}s of the ${round} waited for longest, as their mean and as the inspector attributes it, with whose it was; or, until that is computed and where waiting in collectives took longest, the ${worker} that waited least in them, and how much longer another did. Beside it the slow phase that was found in that ${round}, with its ${worker}s.`,
  };
  const spent = {
    label: "Longest besides compute",
    definition: `The kind other than computing and waiting on which the ${trainer}s of the ${round} spent most themselves, as their mean; “not recorded” where more of their time than that lies in no phase; and the slow phase that was found in that ${round}, with its ${worker}s. What their GPUs waited for stands here once it is computed for that ${round}.`,
  };
  if (!last) return { ...waited, value: "–", detail: "" };
  const finding = store.marks.ofRound(last.index).find((one) => one.phase);
  const more = finding ? `slow: ${[finding.phase, ...(finding.workers ?? [])].map(isolated).join(", ")}` : "";
  const tone = finding ? "warn" : "";
  const took = (ns) => `${duration(ns)} in ${round} ${last.index}`;
  const longestWait = answer && attributed(answer, words);
  if (longestWait) return { ...waited, value: longestWait.name, detail: took(longestWait.ns), more: more || longestWait.whose, tone };
  const { seconds, trainers } = kindSeconds(store, last);
  const skipped = new Set(["compute", "wait"]);
  const longest = seconds.map((value, i) => ({ kind: KINDS[i], value })).filter(({ kind }) => !skipped.has(kind)).sort((a, b) => b.value - a.value)[0];
  const [met] = store.collectives.ofRound(store.lanes, last.index);
  if (met && met.waited > longest.value * 1e9) return { ...waited, value: isolated(met.least.info.name), detail: took(met.waited), more, tone };
  const wall = (last.end - last.begin) / 1e9;
  const rest = wall - seconds.reduce((sum, value) => sum + value, 0);
  if (trainers && rest > Math.max(longest.value, wall * UNEXPLAINED)) return { ...spent, value: "not recorded", detail: took(rest * 1e9), more: more || "phases around it would tell", tone };
  if (!longest.value) return { ...spent, value: "–", detail: "", more, tone };
  return { ...spent, value: longest.kind, detail: took(longest.value * 1e9), more, tone };
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
 * waiting from which on it needs a look, `analysis` the server's of a late round, or null.
 */
export function figures(store, now, much, analysis = null) {
  const last = roundTold(store, analysis);
  const answer = last && isOf(analysis, last) ? analysis : null;
  return [roundFigure(store), timeFigure(store, last), waitingFigure(store, much, last), longestFigure(store, last, answer), memoryFigure(store), dataFigure(store, now)];
}
