// What is fetched of the past: first what is looked at, then what the first picture left out, and nothing twice.

import assert from "node:assert/strict";
import test from "node:test";
import { History } from "../../dashboard/live/static/live/js/history.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { BASE, message, meta, spans } from "./frames_of.mjs";

const S = 1e9;
const span = (second, id) => ({ start: second * 1e6, duration: 500_000, id, lane: 0, attempt: 0, phase: 0 });
const inSight = (from, to) => ({ from: from * S, to: to * S });

/** A store whose first picture holds seconds 100 to 109 of a run that began with second 0, and its history. */
function begun(about = { older_from_ns: String(BASE) }) {
  const store = new Store();
  store.apply(message(meta(about), spans(Array.from({ length: 10 }, (_, i) => span(100 + i, i)))));
  const history = new History("", {});
  history.reset(store.earliest);
  return { store, history };
}

test("a run begins with its first phase, whether or not that has come", () => {
  const { store } = begun();
  assert.equal(store.begun, 0);
  store.apply(message(spans([span(0, 99)])));
  assert.equal(store.begun, 0);
  assert.equal(begun({}).store.begun, 100 * S);
});

test("what is looked at is fetched before what was left out", () => {
  const { store, history } = begun();
  assert.deepEqual(history.wanted(store, inSight(95, 115)), [75 * S, 100 * S]);
  history.covered = [[75 * S, Infinity]];
  assert.deepEqual(history.wanted(store, inSight(95, 115)), [0, 75 * S]);
});

test("a picture from which nothing was left out asks for nothing that is not looked at", () => {
  const { store, history } = begun({});
  assert.equal(history.wanted(store, inSight(105, 109)), undefined);
});

test("with all of the run or enough of it here nothing more is fetched unasked", () => {
  const { store, history } = begun();
  history.covered = [[0, Infinity]];
  assert.equal(history.wanted(store, inSight(105, 109)), undefined);
  history.covered = [[100 * S, Infinity]];
  store.total = 200_000;
  assert.equal(history.wanted(store, inSight(105, 109)), undefined);
});

test("a run of which the oldest were forgotten begins with what is left", () => {
  const store = new Store(100);
  store.apply(message(meta({ older_from_ns: String(BASE) }), spans(Array.from({ length: 101 }, (_, i) => span(100 + i, i)))));
  assert.equal(store.begun, store.forgotten);
  assert.ok(store.forgotten > 0);
});

test("what rounding leaves between two stretches is not fetched", () => {
  const { store, history } = begun();
  history.covered = [[5_872, Infinity]];
  assert.equal(history.wanted(store, inSight(0, 20)), undefined);
  assert.equal(history.wanted(store, inSight(105, 109)), undefined);
});
