// The table of ranks: columns by phase with waits apart, who came last and why, in the run's own words.

import assert from "node:assert/strict";
import test from "node:test";
import { columnsOf, leftOut, rowsOf, verdictText } from "../../dashboard/live/static/live/js/ranks.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { wordsOf } from "../../dashboard/live/static/live/js/words.js";
import { message, meta } from "./frames_of.mjs";

const WORDS = { round: "step", worker: "rank", trainer: "rank" };
const STEP = {
  round: 7,
  parts: [{ name: "data", kind: "input", collective: false }, { name: "allreduce", kind: "transfer", collective: true }],
  ranks: [
    { lane: 0, name: "rank-0", seconds: [0.001, 0.118], waited: [null, 0.098] },
    { lane: 1, name: "rank-1", seconds: [0.1, 0.02], waited: [null, 0] },
    { lane: 2, name: "rank-2", seconds: [null, 0.05], waited: [null, null] },
  ],
};
const VERDICT = { ranks: [0, 1], culprit: 1, victim: 0, waited_s: 0.098, share: 0.467, blamed: true, critical: true, cause: "data", excess_s: 0.099, abstained: "" };
const said = (verdict) => verdictText(STEP, { ...VERDICT, ...verdict }, WORDS).replaceAll("\u00a0", " ");

test("a collective is two columns, what a rank waited and what it transferred, and absent is not zero", () => {
  const columns = columnsOf(STEP.parts);
  assert.deepEqual(columns.map(({ name, kind }) => [name, kind]), [["data", "input"], ["allreduce, waited", "wait"], ["allreduce, transferred", "transfer"]]);
  const values = STEP.ranks.map((rank) => columns.map((column) => column.of(rank)));
  assert.ok(Math.abs(values[0][2] - 0.02) < 1e-9);
  assert.deepEqual([values[0][0], values[0][1], values[1][1], values[2]], [0.001, 0.098, 0, [null, null, 0.05]]);
});

test("who waited least is told with what it cost and by what, or why no cause is named", () => {
  assert.equal(said({}), "Waited least: rank-1; rank-0 waited 98 ms longer, 47 % of the step. Its data took 99 ms more than the others’.");
  assert.equal(said({ cause: "", abstained: "no phase before it is longer there" }), "Waited least: rank-1; rank-0 waited 98 ms longer, 47 % of the step. No cause is named: no phase before it is longer there.");
  assert.equal(said({ blamed: false, waited_s: 0.002, abstained: "the ranks wait about alike" }), "Waited least: rank-1, by 2.0 ms; the ranks wait about alike.");
});

test("where a part of a collective is missing that is said, and of a run without any nothing", () => {
  assert.equal(said({ culprit: null }), "Who waited for whom is not known: a part of a collective is missing among 2 ranks.");
  assert.equal(verdictText({ ...STEP, parts: STEP.parts.slice(0, 1) }, { ranks: [0, 1], culprit: null }, WORDS), "");
});

test("slowest first is who waited least, and a filter leaves its lanes", () => {
  const lanes = ({ rows }) => rows.map(({ rank }) => rank.lane);
  assert.deepEqual(lanes(rowsOf(STEP, null, "name")), [0, 1, 2]);
  assert.deepEqual(lanes(rowsOf(STEP, new Set([0, 1]), "slowest")), [1, 0]);
});

test("what the table leaves out is told", () => {
  const found = rowsOf(STEP, null, "slowest", 2);
  assert.deepEqual([found.all, found.rows.length], [3, 2]);
  assert.equal(leftOut(found, 480, WORDS), "2 of 3 ranks: filter for the others, or sort by who was slowest · 480 shorter phases left out");
  assert.equal(leftOut(rowsOf(STEP, null, "name"), 0, WORDS), "");
});

test("a job of equal ranks has steps, one with a coordinator rounds", () => {
  const store = new Store();
  store.apply(message(meta({ lanes: [{ lane: 0, role: "trainer" }], phases: [{ phase: 0, name: "train", kind: "compute" }] })));
  assert.equal(wordsOf(store).round, "round");
  store.apply(message(meta({ phases: [{ phase: 1, name: "step", kind: "compute" }] })));
  assert.deepEqual([wordsOf(store).round, wordsOf(store).worker], ["step", "rank"]);
  store.apply(message(meta({ lanes: [{ lane: 1, role: "coordinator" }] })));
  assert.deepEqual([wordsOf(store).round, wordsOf(store).worker], ["round", "worker"]);
});
