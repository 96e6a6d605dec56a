// The rows of a round's analysis: they sum, stay few, name gaps and workers; and the way from a piece to its bar.

import assert from "node:assert/strict";
import test from "node:test";
import { checkText, fixRows, gpuSeconds, pathRows, pieceName, scopeText, sightText, waitingRows, whoseText } from "../../dashboard/live/static/live/js/analysis.js";
import { findBar } from "../../dashboard/live/static/live/js/reach.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { meta, message, opens, beats, random, spans } from "./frames_of.mjs";

const WORDS = { round: "round", worker: "worker", trainer: "trainer" };
const sum = (rows) => rows.reduce((total, { ns }) => total + ns, 0);
const piece = (phase, ns, more = {}) => ({ worker: "host-07", phase, kind: "encode", gap: false, at_ns: 0, ns, error_ns: 0, ...more });
const share = (phase, worker, own, others, more = {}) => ({ worker, phase, kind: "encode", gap: false, own_ns: own, others_ns: others, ...more });

test("gaps have names of their own", () => {
  assert.equal(pieceName({ phase: "save", gap: true }, WORDS), "gap before save");
  assert.equal(pieceName({ phase: "", gap: true }, WORDS), "gap at the round’s end");
  assert.equal(pathRows([piece("save", 5, { gap: true })], WORDS)[0].kind, null);
});

test("a path of many pieces keeps its sum, its order and its longest ones", () => {
  const below = random(3);
  for (const count of [1, 24, 25, 500]) {
    const pieces = Array.from({ length: count }, (_, i) => piece(`p${i}`, 1 + below(1e9)));
    const rows = pathRows(pieces, WORDS);
    assert.equal(sum(rows), sum(pieces));
    assert.ok(rows.length <= Math.max(24, 25), `${rows.length} of ${count}`);
    const longest = pieces.reduce((one, other) => (other.ns > one.ns ? other : one));
    assert.ok(rows.some((row) => row.piece === longest));
    const places = rows.filter((row) => row.piece).map((row) => pieces.indexOf(row.piece));
    assert.deepEqual(places, [...places].sort((a, b) => a - b));
  }
  const equal = pathRows(Array.from({ length: 100 }, () => piece("step", 7)), WORDS);
  assert.deepEqual([equal.length, sum(equal), equal[0].name], [1, 700, "100 short pieces"]);
});

test("waiting is told by phase in the order of its first instant, and sums whatever is put together", () => {
  const shares = [share("encode", "host-06", 2, 3), share("encode", "host-07", 2, 90), share("aggregate", "coordinator", 0, 48), share("save", "", 4, 0, { gap: true })];
  const rows = waitingRows(shares, WORDS);
  assert.deepEqual(rows.map(({ name, ns, most }) => [name, ns, most]), [["encode", 97, "host-07"], ["aggregate", 48, "coordinator"], ["gap before save", 4, ""]]);
  assert.deepEqual(rows.map((row) => whoseText(row, WORDS)), ["mostly host-07", "coordinator", ""]);
  assert.deepEqual([rows[0].piece.worker, rows[2].piece], ["host-07", null]);
  const even = waitingRows(["a", "b", "c"].map((worker) => share("apply", worker, 5, 0)), WORDS);
  assert.equal(whoseText(even[0], WORDS), "3 workers");
  const many = Array.from({ length: 512 }, (_, i) => share(`part-${i}`, "w", i + 1, 0));
  const few = waitingRows(many, WORDS);
  assert.deepEqual([few.length, sum(few), few.at(-1).name], [24, (512 * 513) / 2, "489 shorter phases"]);
  const alike = waitingRows(many.map((one) => ({ ...one, own_ns: 20 })), WORDS);
  assert.deepEqual([alike.length, sum(alike)], [24, 512 * 20], "of equals some stay, too");
});

test("gaps that are next to nothing of the round stand together, and the sum stays", () => {
  const gap = (phase, ns) => piece(phase, ns, { gap: true });
  const path = pathRows([gap("train", 40), piece("train", 9000), gap("encode", 14), piece("encode", 10), gap("apply", 936)], WORDS, 10_000);
  assert.deepEqual(path.map(({ name, ns, piece: one }) => [name, ns, Boolean(one)]), [["train", 9000, true], ["encode", 10, true], ["gap before apply", 936, true], ["2 short gaps, together", 54, false]]);
  const lost = waitingRows([share("train", "a", 9, 0, { gap: true }), share("train", "b", 9, 0, { gap: true }), share("encode", "a", 2, 900), share("save", "a", 60, 0, { gap: true })], WORDS, 10_000);
  assert.deepEqual(lost.map(({ name, ns }) => [name, ns]), [["encode", 902], ["gap before save", 60], ["1 short gap", 18]]);
  assert.equal(whoseText(lost[2], WORDS), "");
});

test("what helps together comes first, then each of it alone", () => {
  const fixes = [
    { scope: { phase: "encode" }, saved_ns: 16, waited_ns: 9 }, { scope: { worker: "host-07", phase: "encode" }, saved_ns: 2, waited_ns: 225 },
    { scope: { machine: "m" }, saved_ns: 1, waited_ns: 0 },
  ];
  const items = ["host-07", "host-06"].map((worker) => ({ worker, phase: "encode" }));
  const rows = fixRows({ joint: { items, saved_ns: 157 }, fixes });
  assert.deepEqual(rows.map(({ text, saved }) => [text, saved]), [["encode of host-07 and host-06", 157], ["encode of host-07 alone", 2], ["every encode", 16], ["everything on m", 1]]);
  assert.equal(fixRows({ joint: { items: items.slice(1), saved_ns: 2 }, fixes })[0].text, "every encode");
  assert.deepEqual(fixRows({ joint: null, fixes: [] }), []);
  const crowd = Array.from({ length: 9 }, (_, i) => ({ worker: `w${i}`, phase: "train" }));
  assert.equal(scopeText(crowd), "train of w0, w1, w2, w3 and 5 more");
});

test("a check passes, fails, is not there, cannot be told or was not measured", () => {
  const said = (more) => checkText({ abstained: "", most_s: 10, passed: true, ...more });
  assert.deepEqual(said({}), ["passed, ≤ 10 s", "good"]);
  assert.deepEqual(said({ passed: false }), ["failed, ≤ 10 s", "bad"]);
  assert.deepEqual(said({ passed: null })[1], "warn");
  assert.deepEqual(said({ most_s: null, passed: null }), ["no check", "muted"]);
  assert.deepEqual(said({ abstained: "its end came before its begin" }), ["not measured: its end came before its begin", "muted"]);
});

test("GPU time that others lost is never told as none of it", () => {
  assert.deepEqual([0.12e9, 0.0034e9, 1e9, 2.25e9, 12.4e9, 2250e9].map(gpuSeconds), ["0.12 GPU-seconds", "0.0034 GPU-seconds", "1 GPU-second", "2.3 GPU-seconds", "12 GPU-seconds", "2,250 GPU-seconds"]);
  assert.equal(gpuSeconds(900), "");
  assert.equal(gpuSeconds(0), "");
});

test("what could not be seen is said as detection says it", () => {
  assert.equal(sightText({ workers: 16, smallest_ratio: 1.5, abstained: "" }, WORDS), "from 1.50 × its peers on, of 16 workers");
  assert.equal(sightText({ workers: 2, smallest_ratio: null, abstained: "too noisy" }, WORDS), "too noisy");
});

test("a piece leads to its bar: the phase that covers it, of a gap the one that follows, open ones too", () => {
  const store = new Store();
  store.apply(message(
    meta({ lanes: [{ lane: 0, name: "host-06" }, { lane: 1, name: "host-07" }], phases: [{ phase: 0, name: "train", kind: "compute" }, { phase: 1, name: "encode", kind: "encode" }, { phase: 2, name: "upload", kind: "transfer" }] }),
    spans([{ lane: 0, phase: 1, start: 30e6, duration: 18e6, id: 1 }, { lane: 1, attempt: 1, phase: 0, start: 0, duration: 30e6, id: 2 }, { lane: 1, attempt: 1, phase: 1, start: 30e6, duration: 18e6, id: 3 }, { lane: 1, attempt: 1, phase: 1, start: 90e6, duration: 18e6, id: 4 }]),
    beats([{ lane: 1, attempt: 1, heard: 120e6, number: 9 }]),
    opens([{ lane: 1, attempt: 1, phase: 2, start: 110e6, id: 7 }]),
  ));
  const found = (phase, begin, end, more) => findBar(store, piece(phase, 0, more), begin, end)?.selection;
  assert.deepEqual(found("encode", 31e9, 48e9), { attempt: 1, id: 3, lane: 1 });
  assert.deepEqual(found("encode", 48e9, 90e9, { gap: true }), { attempt: 1, id: 4, lane: 1 });
  store.grow(120e9);
  assert.deepEqual(found("upload", 110e9, 115e9), { attempt: 1, id: 7, lane: 1 });
  assert.equal(found("apply", 31e9, 48e9), null, "its worker is known, and the phase not loaded");
  assert.equal(findBar(store, piece("encode", 0, { worker: "host-08" }), 0, 1e9), null);
});
