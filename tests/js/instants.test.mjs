// Events stand on their lanes in order, are met near their marks, and say in words what they are about.

import assert from "node:assert/strict";
import test from "node:test";
import { Details, attributes, endedAgo, lines, locate, moreLines, title } from "../../dashboard/live/static/live/js/detail.js";
import { instantNear } from "../../dashboard/live/static/live/js/instants.js";
import { EVENT_LIMIT } from "../../dashboard/live/static/live/js/lane.js";
import { instantsInSight } from "../../dashboard/live/static/live/js/measure.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { BASE, events, message, meta, spans } from "./frames_of.mjs";

const MS = 1000;
const happened = (id, time, more = {}) => ({ id, time: time * MS, lane: 0, attempt: 0, phase: 0, round: 2, ...more });
const plain = (texts) => texts.map((text) => text.replaceAll("\u00a0", " "));

function known(...rows) {
  const store = new Store();
  store.apply(message(meta({ phases: [{ phase: 0, name: "retained", kind: "other" }], lanes: [{ lane: 0, name: "coordinator" }] }), events(rows)));
  return store;
}

test("events stand in order of time, each once, whatever order they came in", () => {
  const store = known(happened(5, 50), happened(2, 20));
  store.apply(message(events([happened(9, 30), happened(2, 20)])));
  assert.deepEqual(store.lane(0).events.map(({ id, start }) => [id, start / 1e6]), [[2, 20], [9, 30], [5, 50]]);
});

test("the oldest of very many leave, and what a store forgets of phases it forgets of events", () => {
  const store = known(...Array.from({ length: EVENT_LIMIT + 1 }, (_, i) => happened(i, i)));
  assert.ok(store.lane(0).events.length <= EVENT_LIMIT);
  assert.equal(store.lane(0).events.at(-1).id, EVENT_LIMIT);
  const small = new Store(100);
  small.apply(message(events([happened(1, 0), happened(3, 900)]), spans(Array.from({ length: 200 }, (_, i) => ({ id: 10 + i, start: (10 + i * 5) * MS, duration: MS, lane: 0, attempt: 0, phase: 0 })))));
  assert.deepEqual(small.lane(0).events.map(({ id }) => id), [3]);
  small.apply(message(events([happened(3, 900)])));
  assert.equal(small.lane(0).events.length, 1);
});

test("an event is met within some pixels of its mark, the nearest of several, and not below it", () => {
  const { events: all, ...lane } = known(happened(1, 10), happened(2, 12)).lane(0);
  const near = (ms, depth = 2) => instantNear({ ...lane, events: all }, ms * 1e6, 1e6, depth)?.id ?? null;
  assert.deepEqual([near(4), near(6), near(11.4), near(17), near(18)], [null, 1, 2, 2, null]);
  assert.equal(near(10, 12), null);
});

test("in sight are the events of the window, and of those on one pixel the last", () => {
  const store = known(happened(1, 10), happened(2, 10.2), happened(3, 40), happened(4, 99));
  const view = { from: 5e6, to: 50e6, x: (time) => (time - 5e6) / 1e6 };
  const layout = { bar: 18, rows: [{ kind: "lane", lane: store.lane(0), y: 0, height: 22 }] };
  const found = instantsInSight(layout, view, { top: 0, height: 100 });
  assert.deepEqual(found.map(({ event, x }) => [event.id, x]), [[2, 5.2], [3, 35]]);
});

test("a selected event is found again, and a key walks over it as over a phase", () => {
  const store = known(happened(7, 20));
  store.apply(message(spans([{ id: 3, start: 0, duration: 10 * MS, lane: 0, attempt: 0, phase: 0 }])));
  const facts = locate(store, { attempt: 0, id: 7 });
  assert.deepEqual([facts.event, facts.unix, title(facts)], [true, BASE + 20_000_000n, "retained · coordinator · round 2"]);
  assert.equal(lines(store, facts).length, 1);
  assert.deepEqual(plain([endedAgo(store, facts, 3e9 + 20e6)]), ["3 s ago"]);
  assert.deepEqual(store.lane(0).phases().map(({ id }) => id), [3, 7]);
});

const CYCLE = { label: "deltas", rounds: 2, type: "numpy.ndarray", held_by: "a cycle", path: "dict['aggregation']['deltas'][0]", container: "list", key: "[0]" };

test("what stays is told with what holds it, and every path to it", () => {
  const said = (attrs) => moreLines({ time_ns: "1", name: "retained", attrs });
  assert.deepEqual(said(CYCLE), [
    "“deltas”, numpy.ndarray is still alive 2 rounds later",
    "held by a reference cycle: only the cyclic collector frees it",
    "path: dict['aggregation']['deltas'][0]",
    "in list, at [0]",
  ]);
  assert.equal(said({ ...CYCLE, held_by: "a name" })[1], "held by a name");
  assert.deepEqual(said({ held_by: "not found", search_cut: true }), ["an object is still alive later", "what holds it was not found", "there was more to search than was searched"]);
  assert.equal(moreLines({ time_ns: "1", name: "retained", attrs: CYCLE }, { round: "step" })[0].endsWith("2 steps later"), true);
});

test("a full collection is told with how long it paused the process and what it freed", () => {
  const said = (attrs) => plain(moreLines({ time_ns: "1", name: "gc", attrs }));
  assert.deepEqual(said({ seconds: 0.12, collected: 40, memory_before_bytes: 3 * 2 ** 30, memory_after_bytes: 2 ** 30 }), [
    "a full garbage collection paused the process for 120 ms", "freed 2.0 GiB: memory fell from 3.0 GiB to 1.0 GiB", "40 objects in cycles collected",
  ]);
  assert.deepEqual(said({ seconds: 0.001, collected: 0, left_out: 3 }), ["a full garbage collection paused the process for 1.0 ms", "0 objects in cycles collected", "3 collections before it not told"]);
  assert.equal(said({ memory_before_bytes: 5, memory_after_bytes: 9 })[1], "memory stayed at 9 B");
  assert.deepEqual(said({ memory_before_bytes: 2 ** 30, memory_after_bytes: 2 ** 30, allocated_before_bytes: 2 ** 29, allocated_after_bytes: 2 ** 28 }), [
    "a full garbage collection", "memory stayed at 1.0 GiB", "freed 256 MiB that the allocator keeps for what comes",
  ]);
  assert.deepEqual(said({ seconds: -1 }), ["a full garbage collection"]);
});

test("of any other event the attributes are told, and what was worded is not told twice", () => {
  assert.deepEqual(attributes({ time_ns: "1", name: "saved", attrs: { nbytes: 2048 } }), [["nbytes", "2.0\u00a0KiB"]]);
  assert.deepEqual(attributes({ time_ns: "1", name: "retained", attrs: { ...CYCLE, note: "x" } }), [["note", "x"]]);
  assert.deepEqual(moreLines({ time_ns: "1", name: "__proto__", attrs: {} }), []);
});

test("whatever stands in attributes, words come of it", () => {
  for (const odd of [null, 7, true, [], {}, "\u202egnol", "<b>"]) {
    for (const name of ["retained", "gc"]) {
      const attrs = Object.fromEntries([...Object.keys(CYCLE), "seconds", "collected", "memory_before_bytes", "memory_after_bytes", "left_out"].map((key) => [key, odd]));
      for (const line of moreLines({ time_ns: "1", name, attrs })) assert.equal(typeof line, "string");
    }
  }
});

test("an event is asked for once, with about when it was", async () => {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    return { ok: true, json: async () => ({ time_ns: "5", attrs: {} }) };
  };
  const details = new Details("/phase", "/event");
  for (let i = 0; i < 3; i++) await details.of({ attempt: 1, id: 7, open: null, event: true, unix: 5n });
  assert.deepEqual(asked, ["/event?attempt=1&number=7&near_ns=5"]);
  delete globalThis.fetch;
});
