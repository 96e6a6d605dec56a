// Who waited for whom in a collective: the least time spent in it is the transfer, and the rest of the others waiting.

import assert from "node:assert/strict";
import test from "node:test";
import { lines, ofBar } from "../../dashboard/live/static/live/js/detail.js";
import { figures } from "../../dashboard/live/static/live/js/figures.js";
import { FLAG, KINDS } from "../../dashboard/live/static/live/js/frames.js";
import { busyTimes, kindSeconds } from "../../dashboard/live/static/live/js/kinds.js";
import { Raster } from "../../dashboard/live/static/live/js/raster.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { beats, message, meta, opens, spans, steps } from "./frames_of.mjs";

const MS = 1000;
const DATA = 0;
const REDUCE = 1;
const BROADCAST = 2;
const PHASES = [{ phase: DATA, name: "data", kind: "input" }, { phase: REDUCE, name: "allreduce", kind: "transfer" }, { phase: BROADCAST, name: "broadcast", kind: "transfer" }];

/** A store of ranks whose lanes are 0, 1 ...; `more` says more of each lane. */
function known(ranks, more = () => ({})) {
  const store = new Store();
  const lanes = Array.from({ length: ranks }, (_, lane) => ({ lane, name: `rank-${lane}`, role: "trainer", ...more(lane) }));
  store.apply(message(meta({ phases: PHASES, lanes })));
  return store;
}

let ids = 0;
const part = (lane, start, length, { phase = REDUCE, round = 0, ...more } = {}) => ({ lane, attempt: lane, id: (ids += 2), phase, round, start: start * MS, duration: length * MS, ...more });

function tell(store, rows) {
  store.apply(message(spans(rows)));
  assert.equal(store.collectives.settle(store.lanes), true);
  store.collectives.notBefore = 0; // what follows is settled at once, however long this took
}

const waitsOf = (store, lane) => {
  store.lane(lane).spans.settle();
  const { spans: all } = store.lane(lane);
  return [...all.wait.subarray(0, all.count)].map((ns) => Math.round(ns / 1e6));
};

/** Ranks that load for 1 ms, but for one that takes 100 ms; all reduce until 120 ms. */
const slowed = (ranks, slow, how = {}) => Array.from({ length: ranks }, (_, lane) => {
  const loaded = lane === slow ? 100 : 1;
  return [part(lane, 0, loaded, { phase: DATA, ...how }), part(lane, loaded, 120 - loaded, how)];
}).flat();

test("the rank that spends least waited for nobody, and the others beyond that", () => {
  const store = known(4);
  tell(store, slowed(4, 1));
  assert.deepEqual([0, 1, 2, 3].map((lane) => waitsOf(store, lane)), [[0, 99], [0, 0], [0, 99], [0, 99]]);
  const [found] = store.collectives.ofRound(store.lanes, 0);
  assert.deepEqual([found.least.info.name, found.most.info.name, Math.round(found.waited / 1e6), found.ranks], ["rank-1", "rank-0", 99, 4]);
  assert.deepEqual(waitsOf(store, 0), [0, 99], "asking changes nothing");
});

test("in words, a rank says for whom it waited, and the last one that it waited least", () => {
  const store = known(2);
  tell(store, slowed(2, 1));
  const said = (lane) => lines(store, ofBar(store, store.lane(lane), { index: 1, open: null }))[1].replaceAll("\u00a0", " ");
  assert.equal(said(0), "waited 99 ms for rank-1, transferred 20 ms");
  assert.equal(said(1), "waited least: the others up to 99 ms for it; transferred 20 ms");
});

test("nothing is claimed before all ranks are known, nor where one's part is missing", () => {
  const store = known(3);
  const rows = slowed(3, 1);
  const open = { lane: 2, attempt: 2, id: 9999, phase: DATA, round: 0, start: 0, progress: NaN };
  store.apply(message(beats([{ lane: 2, attempt: 2, number: 9999, heard: 0, error_us: NaN, state: 0 }]), opens([open])));
  tell(store, rows.slice(0, 4));
  assert.deepEqual(waitsOf(store, 0), [0, 0], "the last rank is in the step, and still loads");
  tell(store, [part(2, 0, 110, { phase: DATA })]);
  tell(store, [part(0, 500, 1, { round: 1 })]);
  assert.deepEqual(waitsOf(store, 0), [0, 0, 0], "it has loaded, and its all-reduce is not known");
  tell(store, rows.slice(5));
  assert.deepEqual(waitsOf(store, 0), [0, 99, 0]);
});

test("what came late, in the wrong order or twice, changes nothing of the result", () => {
  const store = known(4);
  const rows = [...slowed(4, 1), ...slowed(4, 3, { round: 1 }).map((row) => ({ ...row, start: row.start + 200 * MS }))];
  for (const row of [...rows].reverse()) tell(store, [row, rows[3]]);
  assert.deepEqual(waitsOf(store, 0), [0, 99, 0, 99]);
  assert.deepEqual(waitsOf(store, 3), [0, 99, 0, 0]);
});

test("the collectives of a step meet in their order, and unequal numbers of them not at all", () => {
  const store = known(2);
  tell(store, [part(0, 0, 50), part(0, 60, 10), part(1, 40, 10), part(1, 60, 30)]);
  assert.deepEqual([waitsOf(store, 0), waitsOf(store, 1)], [[40, 0], [0, 20]]);
  tell(store, [part(0, 100, 5)]);
  assert.deepEqual([waitsOf(store, 0), waitsOf(store, 1)], [[0, 0, 0], [0, 0]]);
});

test("cohorts reduce apart, the coordinator and rooted collectives not at all", () => {
  const store = known(5, (lane) => (lane === 4 ? { role: "coordinator", group: "a" } : { group: lane < 2 ? "a" : "b" }));
  tell(store, [...slowed(4, 3), part(4, 0, 1), part(0, 200, 9, { phase: BROADCAST }), part(1, 200, 1, { phase: BROADCAST })]);
  assert.deepEqual([0, 1, 2, 3, 4].map((lane) => waitsOf(store, lane)[lane === 4 ? 0 : 1]), [0, 0, 99, 0, 0]);
  assert.equal(waitsOf(store, 0)[2], 0);
});

test("a collective that failed tells of no wait", () => {
  const store = known(2);
  tell(store, slowed(2, 1, { flags: FLAG.ERROR }));
  assert.deepEqual(waitsOf(store, 0), [0, 0]);
});

test("of a step that a restart replayed the newest attempts meet", () => {
  const store = known(2);
  tell(store, slowed(2, 1));
  tell(store, slowed(2, 0).map((row) => ({ ...row, attempt: row.attempt + 2, start: row.start + 500 * MS })));
  assert.deepEqual([waitsOf(store, 0), waitsOf(store, 1)], [[0, 0, 0, 0], [0, 0, 0, 99]]);
});

test("a rank's wait is drawn as waiting, and the rest as what it is", () => {
  const store = known(2);
  tell(store, [part(0, 0, 100), part(1, 60, 40)]);
  const colours = Uint32Array.from({ length: 3 }, (_, phase) => phase + 1);
  const out = new Uint32Array(10);
  new Raster(10, { from: 0, perPixel: 10e6, colours, failed: 9, waiting: 7 }).row(store.lane(0), out, 0);
  assert.deepEqual([...out], [7, 7, 7, 7, 7, 7, 2, 2, 2, 2]);
});

test("of a thousand ranks one is found, and settling them is put off rather than in the way", () => {
  const store = known(1024);
  store.apply(message(spans(slowed(1024, 7))));
  assert.equal(store.collectives.settle(store.lanes), true);
  store.apply(message(spans(slowed(1024, 7, { round: 1 }))));
  store.collectives.notBefore = Infinity;
  assert.equal(store.collectives.settle(store.lanes), false);
  store.collectives.notBefore = 0;
  assert.equal(store.collectives.settle(store.lanes), true);
  assert.equal(store.collectives.ofRound(store.lanes, 1)[0].least.info.name, "rank-7");
});

test("what is remembered of rounds is bounded", () => {
  const store = known(2);
  store.collectives.limit = 10;
  for (let round = 0; round < 100; round++) tell(store, [part(0, round * 9, 2, { round }), part(1, round * 9, 1, { round })]);
  assert.equal(store.collectives.reach.size, 10);
  assert.equal(waitsOf(store, 0).filter((ms) => ms === 1).length, 100);
});

test("where a step's time went, waiting in a collective is waiting, and the slowest rank is the one that waited least", () => {
  const store = known(2);
  store.apply(message(steps([{ index: 0, begin: 0, end: 120 * MS, flags: 1, coverage: NaN, waiting: NaN, kinds: Array(9).fill(NaN) }])));
  tell(store, slowed(2, 1));
  const round = store.rounds.get(0);
  const { seconds } = kindSeconds(store, round);
  const of = (kind) => Math.round(seconds[KINDS.indexOf(kind)] * 1e3);
  assert.deepEqual([of("input"), of("transfer"), of("wait")], [51, 20, 50]);
  const busy = busyTimes(store, round);
  assert.ok(busy.get(1) > busy.get(0));
});

test("where waiting in collectives took longest, the key figure names who was waited for", () => {
  const figure = (slow) => {
    const store = known(2);
    tell(store, [0, 1].flatMap((lane) => [part(lane, 0, lane ? slow : 100, { phase: DATA }), part(lane, lane ? slow : 100, lane ? 1010 - slow : 910)]));
    store.apply(message(steps([{ begin: 0, end: 1010 * MS, index: 0, flags: 1, trainers: 2, kinds: KINDS.map(() => NaN) }])));
    const found = figures(store, 2e9, 0.5)[3];
    return [found.label, found.value.replace(/[\u2066-\u2069]/g, ""), found.detail.replaceAll("\u00a0", " ")];
  };
  assert.deepEqual(figure(900), ["Waited longest for", "rank-1", "800 ms in step 0"]);
  assert.deepEqual(figure(110).slice(0, 2), ["Longest besides compute", "transfer"]);
});
