// The store equals what was sent: nothing doubled, nothing closed comes open again, oldest leave first.

import assert from "node:assert/strict";
import test from "node:test";
import { FLAG } from "../../dashboard/live/static/live/js/frames.js";
import { Marks } from "../../dashboard/live/static/live/js/marks.js";
import { resample } from "../../dashboard/live/static/live/js/resample.js";
import { Rounds } from "../../dashboard/live/static/live/js/rounds.js";
import { Samples } from "../../dashboard/live/static/live/js/samples.js";
import { GAP_LIMIT, Store } from "../../dashboard/live/static/live/js/store.js";
import { beats, findings, gaps, message, meta, opens, random, samples, spans, steps } from "./frames_of.mjs";

const SECOND = 1_000_000;
const NO_KINDS = Array(9).fill(NaN);
const one = { start: 1 * SECOND, duration: 2 * SECOND, id: 11, lane: 0, attempt: 0, phase: 0 };
const beat = (number, heard = 10 * SECOND, state = 0) => beats([{ heard, number, error_us: NaN, lane: 0, attempt: 0, state }]);
const openOf = (id, start = 4 * SECOND) => opens([{ start, id, lane: 0, attempt: 0, phase: 0, round: 0, progress: NaN }]);

test("a span that comes twice is kept once", () => {
  const store = new Store();
  store.apply(message(spans([one, one])));
  store.apply(message(spans([one, { ...one, attempt: 1 }])));
  assert.equal(store.total, 2);
  assert.equal(store.lane(0).spans.count, 2);
});

test("frames with other bases and units fall on the same time", () => {
  const store = new Store();
  store.apply(message(spans([{ ...one, id: 1 }])));
  store.apply(message(spans([{ ...one, id: 2, start: 0.5 * SECOND / 10, duration: 1 }], { base: 1_790_000_000_500_000_000n, unit: 10_000 })));
  const { start } = store.lane(0).spans;
  assert.equal(start[0], start[1]);
});

test("an open phase is replaced by its span and does not come back with an older list", () => {
  const store = new Store();
  store.apply(message(beat(20), openOf(15)));
  assert.equal(store.lane(0).open.length, 1);
  store.apply(message(spans([{ ...one, id: 15 }])));
  assert.equal(store.lane(0).open.length, 0);
  store.apply(message(beat(20), openOf(15)));
  assert.equal(store.lane(0).open.length, 0, "known as ended");
});

test("an older list of open phases changes nothing, a newer one replaces all of its attempt", () => {
  const store = new Store();
  store.apply(message(beat(20), openOf(15)));
  store.apply(message(beat(19), openOf(9)));
  assert.deepEqual(store.lane(0).open.map((open) => open.id), [15]);
  store.apply(message(beat(30), openOf(25)));
  assert.deepEqual(store.lane(0).open.map((open) => open.id), [25]);
  store.apply(message(beat(31)));
  assert.deepEqual(store.lane(0).open, []);
});

test("a list without its attempt's heartbeat is not believed", () => {
  const store = new Store();
  store.apply(message(openOf(15)));
  assert.equal(store.lane(0).open.length, 0);
});

test("an open bar grows to now and stops 10 s after it was last heard of", () => {
  const store = new Store();
  store.apply(message(beat(20, 10 * SECOND), openOf(15)));
  const origin = Number(store.origin - 1_790_000_000_000_000_000n);
  store.grow(12e9 - origin);
  const [open] = store.lane(0).open;
  assert.deepEqual([open.end + origin, open.stale], [12e9, false]);
  store.grow(60e9 - origin);
  assert.deepEqual([open.end + origin, open.stale], [20e9, true]);
});

test("an open bar of a lost attempt stops where it was last heard of", () => {
  const store = new Store();
  store.apply(message(beat(20, 10 * SECOND, 2), openOf(15)));
  store.grow(60e9);
  assert.equal(store.lane(0).open[0].end, 10e9);
});

test("an open bar is amber while it is said to be, also when it is told of later", () => {
  const store = new Store();
  const flags = () => store.lane(0).open.map((open) => [open.id, open.flags & FLAG.SLOW]);
  store.apply(message(beat(20), openOf(15)));
  store.apply(message(meta({ amber: [[0, 15, 0]] })));
  assert.deepEqual(flags(), [[15, FLAG.SLOW]]);
  store.apply(message(beat(21), openOf(15)));
  assert.deepEqual(flags(), [[15, FLAG.SLOW]]);
  store.apply(message(meta({ dropped: 1 })));
  assert.deepEqual(flags(), [[15, FLAG.SLOW]], "nothing was said of it");
  store.apply(message(meta({ amber: [] })));
  assert.deepEqual(flags(), [[15, 0]]);
});

test("a phase that is slow while it runs is compared with what its finding says", () => {
  const store = new Store();
  const evidence = { slow: [{ worker: "a", reference_s: 1.9, against: "peers" }] };
  store.apply(message(meta({ lanes: [{ lane: 0, name: "a" }] }), beat(20), openOf(15)));
  store.apply(message(findings([{ id: "s", kind: "slow_phase", state: "open", rounds: [4], workers: ["a"], spans: [[0, 15, 0, 4]], evidence }])));
  assert.equal(store.marks.comparison(0, 15, store.lanes).reference_s, 1.9);
  store.apply(message(meta({ amber: [] })));
  assert.equal(store.lane(0).open[0].flags & FLAG.SLOW, FLAG.SLOW, "a finding outlasts the hint");
});

const finding = { id: "f", kind: "straggler", state: "resolved", rounds: [4], workers: ["a"], spans: [[0, 11, 0, 4]], evidence: { cohorts: [{ slow: [{ worker: "a", ratio: 9.3 }] }] } };
const lanes = meta({ lanes: [{ lane: 0, name: "a", role: "trainer" }] });

test("a finding marks its phase whether it comes before or after it", () => {
  for (const order of [[findings([finding]), spans([one])], [spans([one]), findings([finding])]]) {
    const store = new Store();
    store.apply(message(lanes));
    for (const part of order) store.apply(message(part));
    assert.equal(store.lane(0).spans.flags[0] & FLAG.SLOW, FLAG.SLOW);
    assert.equal(store.marks.comparison(0, 11, store.lanes).ratio, 9.3);
    assert.equal(store.marks.ofRound(4).length, 1);
  }
});

test("the newest generation of a round counts, the older stays known", () => {
  const store = new Store();
  const step = (generation, begin) => steps([{ begin, end: begin + 5, index: 3, generation, flags: 1, kinds: NO_KINDS }]);
  store.apply(message(step(1, 100)));
  store.apply(message(step(0, 10)));
  assert.equal(store.rounds.get(3).generation, 1);
  assert.deepEqual(store.rounds.older.map((round) => round.generation), [0]);
  assert.equal(store.rounds.list().length, 1);
});

test("readings stand in order of time, once each", () => {
  const store = new Store();
  store.apply(message(samples([{ time: 30, series: 1, value: 3 }, { time: 10, series: 1, value: 1 }])));
  store.apply(message(samples([{ time: 20, series: 1, value: 2 }, { time: 30, series: 1, value: 3 }])));
  const line = store.samples.lines.get(1);
  assert.deepEqual([...line.values.subarray(0, line.count)], [1, 2, 3]);
});

test("lost records are kept for drawing, once", () => {
  const store = new Store();
  const gap = gaps([{ begin: 5, end: 9, count: 40, lane: 2, attempt: 1 }]);
  store.apply(message(gap));
  store.apply(message(gap));
  assert.deepEqual(store.lane(2).gaps.map(({ count }) => count), [40]);
});

test("names that come later reach what is already there", () => {
  const store = new Store();
  store.apply(message(spans([one])));
  store.apply(message(lanes, meta({ phases: [{ phase: 0, name: "train", kind: "compute" }] })));
  assert.equal(store.lane(0).info.name, "a");
  assert.equal(store.phase(0).name, "train");
});

test("beyond its limit the store forgets the oldest, in every lane, and stays within it", () => {
  const store = new Store(2000);
  const pick = random(9);
  for (let i = 0; i < 60; i++) {
    store.apply(message(spans(Array.from({ length: 100 }, (_, j) => ({ ...one, start: (i * 100 + j) * 10, id: i * 100 + j, lane: pick(3) })))));
    assert.ok(store.total <= 2000);
  }
  const kept = [...store.lanes.values()].reduce((sum, lane) => sum + lane.spans.count, 0);
  assert.equal(kept, store.total);
  const newest = Math.max(...[...store.lanes.values()].map((lane) => Math.max(...lane.spans.id.subarray(0, lane.spans.count))));
  assert.equal(newest, 5999);
  assert.ok(store.total > 1500);
});

test("readings that are old grow thinner, with their peaks, joined as before and over the whole run", () => {
  const kept = new Samples(1000);
  const rows = Array.from({ length: 9000 }, (_, i) => ({ time: i * 1000, series: 1, value: i === 4321 ? 99 : i % 7 }));
  for (let i = 0; i < rows.length; i += 10) kept.apply(message(samples(rows.slice(i, i + 10)))[0], 1_790_000_000_000_000_000n);
  const line = kept.lines.get(1);
  assert.ok(line.count <= 1000 && line.count > 500, `${line.count} readings`);
  assert.equal(kept.peak([1]), 99);
  assert.deepEqual([...line.times.subarray(line.count - 200, line.count)], rows.slice(-200).map((row) => row.time * 1000), "the newest as they came");
  assert.ok(line.times[0] < 50e6 && line.times.subarray(0, line.count).every((time, i, all) => !i || time > all[i - 1]));
  const drawn = [...resample(line, 100e6, 10e6, 880, 1.5e6)];
  assert.ok(drawn.every(Number.isFinite), "no holes where only thinning took readings away");
});

test("a reading that is no number hides no peak", () => {
  const kept = new Samples();
  const values = [NaN, 5, NaN, 4];
  kept.apply(message(samples(values.map((value, time) => ({ time, series: 1, value }))))[0], 1_790_000_000_000_000_000n);
  assert.equal(kept.peak([1]), 5);
});

test("a silence stays a hole as long as its readings are whole", () => {
  const kept = new Samples();
  kept.apply(message(samples([0, 1, 2, 90, 91].map((time) => ({ time, series: 1, value: 1 }))))[0], 1_790_000_000_000_000_000n);
  assert.ok(Number.isNaN(resample(kept.lines.get(1), 0, 10_000, 5, 5000)[3]));
});

test("many series share what one page may hold", () => {
  const kept = new Samples(10_000);
  for (let time = 0; time < 900; time += 1) {
    kept.apply(message(samples(Array.from({ length: 20 }, (_, series) => ({ time, series, value: 1 }))))[0], 1_790_000_000_000_000_000n);
  }
  const held = [...kept.lines.values()].reduce((sum, line) => sum + line.count, 0);
  assert.ok(held <= 10_000 && held > 5000, `${held} readings`);
});

test("of very many rounds the newest stay, replays of those that left go with them", () => {
  const kept = new Rounds(100);
  const put = (index, generation = 0, flags = 1) => kept.apply(message(steps([{ begin: index * 10, end: index * 10 + 5, index, generation, flags, kinds: NO_KINDS }]))[0], 1_790_000_000_000_000_000n);
  for (let index = 0; index < 1000; index++) {
    put(index, 0);
    put(index, 1, index < 998 ? 1 : 0);
    assert.ok(kept.list().length <= 100 && kept.older.length <= 100);
  }
  assert.deepEqual([kept.newest.index, kept.newestClosed.index, kept.get(0)], [999, 997, null]);
  assert.deepEqual(kept.list().map((round) => round.index), Array.from({ length: kept.list().length }, (_, i) => 1000 - kept.list().length + i));
  assert.equal(kept.older.length, kept.list().length);
});

test("rounds stand in order of their number however they come", () => {
  const kept = new Rounds();
  for (const index of [4, 1, 3, 1, 2, 4]) kept.apply(message(steps([{ begin: index, index, flags: 1, kinds: NO_KINDS }]))[0], 1_790_000_000_000_000_000n);
  assert.deepEqual(kept.list().map((round) => round.index), [1, 2, 3, 4]);
});

test("of very many findings the resolved leave first, and their marks with them", () => {
  const marks = new Marks(50);
  for (let i = 0; i < 500; i++) marks.put({ id: `f${i}`, state: i ? "resolved" : "open", rounds: [i], spans: [[0, i, 0, i]] }, new Map());
  assert.ok(marks.findings.size <= 50 && marks.byPhase.size === marks.findings.size);
  assert.deepEqual([marks.ofRound(0).length, marks.ofRound(1).length, marks.ofRound(499).length], [1, 0, 1]);
  assert.deepEqual([marks.has(0, 1), marks.has(0, 499)], [false, true]);
});

test("lost records are forgotten with the spans around them, and beyond a number", () => {
  const store = new Store(2000);
  const lost = (begin) => ({ begin, end: begin + 1, count: 1, lane: 0, attempt: 0 });
  store.apply(message(gaps([lost(1), lost(5000)])));
  store.apply(message(spans(Array.from({ length: 4000 }, (_, i) => ({ ...one, start: i, duration: 1, id: i })))));
  assert.deepEqual(store.lane(0).gaps.map((gap) => gap.begin + Number(store.origin - 1_790_000_000_000_000_000n)), [5_000_000]);
  store.apply(message(gaps(Array.from({ length: GAP_LIMIT * 2 }, (_, i) => lost(6000 + i * 2)))));
  assert.ok(store.lane(0).gaps.length <= GAP_LIMIT);
  assert.equal(store.lane(0).gaps.at(-1).begin, (6000 + (GAP_LIMIT * 2 - 1) * 2) * 1000);
});
