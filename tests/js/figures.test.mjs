// Figures, charts and statistics say what was recorded, in units.

import assert from "node:assert/strict";
import test from "node:test";
import { statistics } from "../../dashboard/live/static/live/js/area.js";
import { chartsOf } from "../../dashboard/live/static/live/js/chartgroups.js";
import { endedAgo, locate } from "../../dashboard/live/static/live/js/detail.js";
import { figures } from "../../dashboard/live/static/live/js/figures.js";
import { failureOf, failureText } from "../../dashboard/live/static/live/js/failure.js";
import { age, bytes, clockTime, dayTime, duration, isolated, legible, reading } from "../../dashboard/live/static/live/js/format.js";
import { olderText } from "../../dashboard/live/static/live/js/inspector.js";
import { joined, missing } from "../../dashboard/live/static/live/js/history.js";
import { busyTimes, kindSeconds } from "../../dashboard/live/static/live/js/kinds.js";
import { extentOfReadings, newestIn, readings, resample, summarize } from "../../dashboard/live/static/live/js/resample.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { beats, findings, message, meta, opens, samples, spans, steps } from "./frames_of.mjs";

const S = 1_000_000;
const NONE = Array(9).fill(NaN);
const PHASES = [["train", "compute"], ["data", "input"], ["encode", "encode"], ["wait", "wait"], ["save", "persist"], ["upload", "transfer"]];
const META = meta({
  run: { state: "running", rounds_planned: 20, model_bytes: 1000 },
  lanes: [{ lane: 0, name: "a", role: "trainer", machine: "m" }, { lane: 1, name: "b", role: "trainer", machine: "m" }, { lane: 2, name: "c", role: "coordinator", machine: "n" }],
  attempts: [0, 1, 2].map((index) => ({ attempt: index, lane: index, number: 0 })),
  phases: PHASES.map(([name, kind], phase) => ({ phase, name, kind })),
  series: [{ series: 1, lane: 2, machine: "n", metric: "process_memory_bytes", unit: "bytes", source: "process", device: "" }, { series: 2, lane: 0, machine: "m", metric: "loss", unit: "", source: "training", device: "" }, { series: 3, lane: null, machine: "m", metric: "host_load1", unit: "", source: "host", device: "" }],
});
const span = (lane, phase, start, end, extra = {}) => ({ lane, attempt: lane, phase, start: start * S, duration: (end - start) * S, id: start * 100 + phase, round: 0, ...extra });

function store(...parts) {
  const made = new Store();
  made.apply(message(META, steps([{ begin: 0, end: 20 * S, index: 0, flags: 1, coverage: 0.9, waiting: 0.4, trainers: 2, kinds: NONE }]), ...parts));
  return made;
}

test("time by kind gives a nested phase its time and takes it from its parent, on the same thread only", () => {
  const made = store(spans([
    span(0, 0, 0, 10), span(0, 1, 2, 5, { flags: 4 }), span(0, 2, 10, 14), span(1, 0, 0, 10), span(1, 1, 3, 4, { thread: 1 }),
  ]));
  const { seconds, trainers, final } = kindSeconds(made, made.rounds.get(0));
  assert.deepEqual([seconds[0], seconds[1], seconds[2]], [8.5, 2, 2]);
  assert.deepEqual([trainers, final], [2, false]);
});

test("what is nested under persist stays persist", () => {
  const made = store(spans([span(0, 4, 0, 10), span(0, 5, 2, 8, { flags: 4 })]));
  const { seconds } = kindSeconds(made, made.rounds.get(0));
  assert.deepEqual([seconds[5], seconds[3]], [10, 0]);
});

test("what the server has computed counts", () => {
  const made = store(spans([span(0, 0, 0, 10)]));
  made.apply(message(steps([{ begin: 0, end: 20 * S, index: 0, flags: 1, trainers: 2, kinds: [1, 2, 3, 0, 0, 0, 0, 0, 0] }])));
  assert.deepEqual(kindSeconds(made, made.rounds.get(0)).seconds.slice(0, 3), [1, 2, 3]);
});

test("busy time leaves waiting out", () => {
  const made = store(spans([span(0, 0, 0, 10), span(0, 3, 10, 18), span(1, 0, 0, 12)]));
  const busy = busyTimes(made, made.rounds.get(0));
  assert.deepEqual([busy.get(0), busy.get(1)], [10e9, 12e9]);
});

test("key figures carry value, denominator and number of rounds", () => {
  const made = store(
    spans([span(0, 0, 0, 10), span(1, 0, 0, 10)]), samples([{ time: 5 * S, series: 1, value: 4000 }, { time: 7 * S, series: 1, value: 3000 }]),
    beats([0, 1, 2].map((index) => ({ heard: 20 * S, number: 5, error_us: 2000, lane: index, attempt: index, state: 0 }))),
    opens([{ lane: 0, attempt: 0, id: 9999, start: 19 * S, phase: 2, round: 0, progress: NaN }]),
  );
  const [round, time, waiting, longest, memory, data] = figures(made, 21e9, 0.3);
  assert.deepEqual([round.value, round.detail], ["0", "· 1 of 20 done · 1 of 2 in encode"]);
  assert.equal(time.value, "20.0\u00a0s");
  assert.match(time.definition, /1 closed round\./);
  assert.equal(waiting.value, "40\u00a0%");
  assert.equal(longest.value, "not recorded");
  assert.deepEqual([memory.label, memory.detail], ["Coordinator memory, peak", "≥ 4.0 model copies"]);
  made.run.model_bytes = 8;
  assert.equal(figures(made, 21e9, 0.3)[4].detail, "", "a model so small that its copies tell nothing");
  assert.deepEqual([data.value, data.detail, data.more], ["3 of 3", "reporting", "0 dropped · 1\u00a0s old · ±\u00a02.0\u00a0ms"]);
});

test("a run that has ended says how many of its rounds are done, as the list of runs counts them", () => {
  const made = store(meta({ run: { state: "finished", rounds_planned: 1 }, lanes: [0, 1, 2].map((lane) => ({ lane, state: "finished" })) }));
  const [round, , , , , data] = figures(made, 21e9, 0.3);
  assert.deepEqual([round.value, round.detail], ["1 of 1", "done"]);
  assert.deepEqual([data.value, data.detail, data.more], ["3", "ended", "0 dropped"]);
});

test("waiting needs a look from the share on that the server names, as in the list of runs", () => {
  const tone = (waiting, much) => {
    const made = new Store();
    made.apply(message(META, steps([{ begin: 0, end: 20 * S, index: 0, flags: 1, waiting, trainers: 2, kinds: NONE }])));
    return figures(made, 21e9, much)[2].tone;
  };
  assert.deepEqual([tone(0.25, 0.25), tone(0.24, 0.25), tone(0.4, 0.5)], ["warn", "", ""]);
});

test("what was waited for longest is the longest kind, with its time, also beside a finding", () => {
  const made = store(spans([span(0, 0, 0, 10), span(0, 5, 10, 14), span(0, 2, 14, 15), span(0, 3, 15, 20)]), findings([{ id: "f", kind: "straggler", state: "open", phase: "encode", workers: ["b"], rounds: [0], spans: [] }]));
  const longest = figures(made, 21e9, 0.3)[3];
  assert.deepEqual([longest.value, longest.detail, longest.more, longest.tone], ["transfer", "4.00\u00a0s in round 0", "slow: encode, b", "warn"]);
});

const ANALYSIS = {
  round: 0, generation: 0, trainers: 2,
  waiting: [
    { worker: "a", phase: "encode", kind: "encode", gap: false, own_ns: 4e9, others_ns: 30e9 }, { worker: "b", phase: "encode", kind: "encode", gap: false, own_ns: 0.2e9, others_ns: 0 },
    { worker: "b", phase: "upload", kind: "transfer", gap: false, own_ns: 26e9, others_ns: 0 },
  ],
};

test("what was waited for longest is what the inspector tells of the same round, and else says that it is what they spent", () => {
  const made = store(spans([span(0, 0, 0, 10), span(0, 5, 10, 18), span(0, 2, 18, 20)]));
  const told = (analysis) => {
    const { label, value, detail, more } = figures(made, 21e9, 0.3, analysis)[3];
    return [label, value, detail, more];
  };
  assert.deepEqual(told(ANALYSIS), ["Waited longest for", "encode", "17.1\u00a0s in round 0", "mostly a"]);
  const spent = ["Longest besides compute", "transfer", "8.00\u00a0s in round 0", ""];
  assert.deepEqual([told(null), told({ ...ANALYSIS, round: 3 }), told({ ...ANALYSIS, generation: 1 })], [spent, spent, spent]);
});

/** What the figures of rounds that took `wall` s each say of their last ones; `waiting` by round, NaN where none is judged. */
function roundsSaid(wall, waiting, analysis = null) {
  const made = new Store();
  made.apply(message(META, steps(waiting.map((share, index) => ({ begin: index * wall * S, end: (index + 1) * wall * S, index, flags: 1, coverage: share, waiting: share, trainers: 2, kinds: [1, 0, 2, 0, 0, 0, 0, 0, 0] })))));
  const [, time, waited, longest] = figures(made, 21e9, 0.3, analysis);
  return [time.detail.split(":")[0], waited.value, waited.detail, longest.detail.split(" in ")[1]];
}

test("figures of the last round are all of the same one, or say that they are being computed", () => {
  assert.deepEqual(roundsSaid(60, [0.4, 0.5, NaN]), ["round 2", "being computed", "of round 2 · 45\u00a0% before", "round 2"]);
  assert.deepEqual(roundsSaid(60, [0.4, 0.5, 0.6]), ["round 2", "60\u00a0%", "of round 2 · 45\u00a0% before", "round 2"]);
  assert.deepEqual(roundsSaid(0.5, [0.4, 0.5, NaN]), ["round 1", "50\u00a0%", "of round 1 · 40\u00a0% before", "round 1"]);
  assert.deepEqual(roundsSaid(0.5, [0.4, 0.5, NaN], ANALYSIS), ["round 0", "40\u00a0%", "of round 0", "round 0"]);
});

test("a run tells why it failed: the worst end, the earliest of equals, and how many more there are", () => {
  const lanes = (...states) => meta({ lanes: states.map(([state, state_reason], lane) => ({ lane, state, state_reason })) });
  const heard = beats([[0, 19], [1, 9], [2, 5]].map(([index, at]) => ({ heard: at * S, number: 5, error_us: 0, lane: index, attempt: index, state: 0 })));
  const made = store(heard, lanes(["failed", "out of memory"], ["failed", "ValueError: bad shape."], ["lost", "Nothing was heard for 15 s."]));
  const failure = failureOf(made);
  assert.deepEqual([failureText(failure), failure.others], ["failed: ValueError: bad shape · b", 1]);
  assert.equal(failureText(failureOf(store(lanes(["killed", ""], ["running", ""], ["finished", ""])))), "killed · a");
  assert.equal(failureOf(store()), null);
});

test("how long ago a phase ended is told while the run goes on, and not after its end", () => {
  const made = store(spans([span(0, 0, 0, 10)]));
  const facts = locate(made, { attempt: 0, id: 0 });
  assert.deepEqual([endedAgo(made, facts, 19.7e9), endedAgo(made, facts, 20.7e9)], ["ended 9\u00a0s ago", "ended 10\u00a0s ago"]);
  made.apply(message(meta({ run: { state: "failed" } })));
  assert.equal(endedAgo(made, facts, 20.7e9), "");
});

test("silent workers are missed, ended ones are not", () => {
  const made = store(beats([{ heard: 20 * S, number: 1, error_us: NaN, lane: 0, attempt: 0 }, { heard: 1 * S, number: 1, error_us: NaN, lane: 1, attempt: 1 }]), meta({ lanes: [{ lane: 2, state: "finished" }] }));
  const data = figures(made, 25e9, 0.3)[5];
  assert.deepEqual([data.value, data.tone], ["1 of 2", "warn"]);
});

test("charts are there for what is measured, not for what nobody asked about", () => {
  const made = store();
  assert.deepEqual(chartsOf(made.samples, made.lanes).map((chart) => chart.label), ["loss · a", "coordinator memory · c"]);
});

test("readings are joined where they are close, and not over a silence", () => {
  const line = store(samples([{ time: 0, series: 9, value: 0 }, { time: 10, series: 9, value: 10 }, { time: 90, series: 9, value: 0 }])).samples.lines.get(9);
  const values = [...resample(line, 0, 5000, 5, 20_000)];
  assert.deepEqual(values.slice(0, 3), [0, 5, 10]);
  assert.ok(Number.isNaN(values[3]));
});

test("a reading that is alone shows for one step", () => {
  const line = store(samples([{ time: 12, series: 9, value: 3 }])).samples.lines.get(9);
  assert.deepEqual([...resample(line, 0, 5000, 5, 20_000)], [NaN, NaN, NaN, 3, NaN]);
});

test("under the cursor stands what was read there, and nothing of before a silence", () => {
  const line = store(samples([{ time: 0, series: 9, value: 1 }, { time: 10, series: 9, value: 2 }, { time: 90, series: 9, value: 3 }])).samples.lines.get(9);
  const at = (time) => readings([line], time, 20_000);
  assert.deepEqual([at(-1), at(12_000), at(50_000), at(90_000), at(null)], [[], [2], [], [3], [3]]);
});

test("the value without a cursor is one of those whose range is told: up to the view's end, and what reaches into it", () => {
  const line = store(samples([[0, 9], [10, 4], [20, 5], [90, 1]].map(([time, value]) => ({ time, series: 9, value })))).samples.lines.get(9);
  const both = (from, to) => [newestIn([line], { from, to }, 20_000), extentOfReadings([line], { from, to }, 20_000)];
  assert.deepEqual(both(12_000, 19_000), [[4], [4, 4]]);
  assert.deepEqual(both(5_000, 25_000), [[5], [4, 9]]);
  assert.deepEqual(both(50_000, 80_000), [[], [Infinity, -Infinity]]);
});

test("where no phase explains most of a round, that is told with what to do", () => {
  const longest = figures(store(spans([span(0, 2, 0, 3)])), 21e9, 0.3)[3];
  assert.deepEqual([longest.value, longest.detail, longest.more], ["not recorded", "17.0\u00a0s in round 0", "phases around it would tell"]);
});

test("a generation of a round that did not end was not replayed whole", () => {
  assert.equal(olderText({ generation: 0, begin: 0, end: 2e9 }), "generation 1 of it took 2.00\u00a0s and was replayed");
  assert.equal(olderText({ generation: 0, begin: 0, end: NaN }), "generation 1 of it did not end");
});

test("several workers are summed up over those that have a reading", () => {
  const { low, high, value } = summarize([[1, NaN], [3, NaN], [10, 4]], "median");
  assert.deepEqual([low[0], high[0], value[0], value[1]], [1, 10, 3, 4]);
  assert.equal(summarize([[1], [3]], "highest").value[0], 3);
});

test("an area counts the phases that touch it and only their time within", () => {
  const made = store(spans([span(0, 0, 0, 10), span(0, 2, 10, 14), span(1, 0, 0, 8)]));
  const { phases } = statistics(made, [...made.lanes.values()], 5e9, 11e9);
  assert.deepEqual(phases.map(({ name, count, total }) => [name, count, total]), [["train", 2, 8e9], ["encode", 1, 1e9]]);
});

test("only stretches that are not loaded are fetched", () => {
  const covered = [[10, 20], [30, Infinity]];
  assert.deepEqual(missing(covered, 0, 40), [[0, 10], [20, 30]]);
  assert.deepEqual(missing(covered, 12, 18), []);
  assert.deepEqual(joined(covered, 20, 30), [[10, Infinity]]);
  assert.deepEqual(joined(covered, 0, 5), [[0, 5], ...covered]);
});

test("figures carry units and no more digits than mean something", () => {
  const plain = (text) => text.replaceAll("\u00a0", " ");
  assert.deepEqual([350e3, 1.93e9, 17.8e9, 125e9, 3720e9, NaN].map((ns) => plain(duration(ns))), ["350 µs", "1.93 s", "17.8 s", "2 min 05 s", "1 h 02 min", "–"]);
  assert.deepEqual([-1e9, 0.4e9, 9.67e9, 99.97e9, 125e9, 11100e9, 183600e9].map((ns) => plain(age(ns))), ["< 1 s", "< 1 s", "9 s", "99 s", "2 min 05 s", "3 h 05 min", "2 d 03 h"]);
  assert.deepEqual([512, 2 ** 30 * 34.4].map((value) => plain(bytes(value))), ["512 B", "34.4 GiB"]);
  assert.deepEqual([plain(reading(0.71, "ratio")), plain(reading(NaN, "bytes"))], ["71 %", "–"]);
  assert.equal(plain(duration(999_600)), "1.0 ms");
  assert.match(dayTime(1_790_000_000_123_456_789n), /^2026-09-\d\d \d\d:\d\d:\d\d$/);
  assert.match(clockTime(1_790_000_000_123_456_789n, 1e6), /:\d\d\.123$/);
});

test("a name turns nothing around it, and most are left as they are", () => {
  assert.equal(isolated("rank-0"), "rank-0");
  assert.equal(isolated("\u202egnol\u2069\u202e"), "\u2068gnol\u2069");
  assert.deepEqual(["a\u202eb", "\u200b\u200d", " ", "é", ""].map(legible), ["ab", "(invisible)", "(invisible)", "é", ""]);
  for (const unseen of ["\u3164", "\u115f\u1160\uffa0", "\u2800 \u2800", "\ufe0f", "\u{e0100}\u034f"]) assert.equal(legible(unseen), "(invisible)");
  for (const seen of ["\u2764\ufe0f", "한", "\u2801", "a"]) assert.equal(legible(seen), seen);
  assert.deepEqual([legible(undefined), legible(null), isolated(undefined)], ["", "", ""]);
});
