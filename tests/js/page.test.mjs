// Smaller rules of the page: the cursor, the server's clock, the round strip, the parts of a round, readable ink, the table.

import assert from "node:assert/strict";
import test from "node:test";
import { relativeLabel } from "../../dashboard/live/static/live/js/axis.js";
import { Clock } from "../../dashboard/live/static/live/js/clock.js";
import { advanced } from "../../dashboard/live/static/live/js/connection.js";
import { moreLines } from "../../dashboard/live/static/live/js/detail.js";
import { grouped, headingOf, judgedText, roundsText, tagOf } from "../../dashboard/live/static/live/js/findingcard.js";
import { partsOf } from "../../dashboard/live/static/live/js/inspector.js";
import { arrange } from "../../dashboard/live/static/live/js/lanes.js";
import { Page } from "../../dashboard/live/static/live/js/page.js";
import { inSight, labelled, slots } from "../../dashboard/live/static/live/js/roundstrip.js";
import { Store } from "../../dashboard/live/static/live/js/store.js";
import { tableRows } from "../../dashboard/live/static/live/js/table.js";
import { inkOn, luminance, pixel } from "../../dashboard/live/static/live/js/theme.js";
import { beats, findings, message, meta, opens, samples, spans, steps } from "./frames_of.mjs";

test("the cursor goes forward within an epoch and follows a new one; frames without one do not move it", () => {
  const from = { epoch: 5n, last: 100n };
  assert.deepEqual(advanced(from, [{ epoch: 5n, last: 90n }]), from);
  assert.deepEqual(advanced(from, [{ epoch: 5n, last: 101n }, { epoch: 0n, last: 0n }]), { epoch: 5n, last: 101n });
  assert.deepEqual(advanced(from, [{ epoch: 6n, last: 1n }]), { epoch: 6n, last: 1n });
  assert.equal(advanced(null, []), null);
});

test("of several words on the server's time the one that travelled fastest counts", () => {
  let steady = 1000;
  const clock = new Clock(() => steady);
  assert.ok(Number.isNaN(clock.now()));
  clock.hear(5_000e6);
  steady += 1000;
  clock.hear(5_900e6);
  assert.equal(clock.now(), 6_000e6);
  steady += 500;
  assert.equal(clock.now(), 6_500e6);
});

const rounds = (count) => Array.from({ length: count }, (_, index) => ({ index }));

test("planned rounds have their place in the strip, and the newest stay in sight when not all fit", () => {
  assert.deepEqual(slots(rounds(6), 20, 1000), { first: 0, count: 20, slot: 50 });
  const long = slots(rounds(5000), null, 1000);
  assert.equal(long.first + long.count, 5000);
  const centred = slots(rounds(5000), null, 1000, 100);
  assert.ok(centred.first <= 100 && 100 < centred.first + centred.count);
  assert.equal(slots([], null, 1000).first, 0);
});

test("numbers of rounds never touch, and the selected one has its own", () => {
  const wide = { first: 0, count: 20, slot: 50 };
  assert.deepEqual(labelled(wide, undefined), Array.from({ length: 20 }, (_, index) => index));
  const narrow = { first: 0, count: 20, slot: 14.7 };
  assert.deepEqual(labelled(narrow, undefined), [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  assert.deepEqual(labelled(narrow, 19), [0, 2, 4, 6, 8, 10, 12, 14, 16, 19]);
});

test("a phase that its round has many of is compared as all of them, and says so", () => {
  const peers = { count: 2, own_s: 0.37, fastest_s: 0.36, median_s: 0.36, slowest_s: 0.38, ratio: 1.03 };
  const alone = "2 peers: 360\u00a0ms to 380\u00a0ms, lower median 360\u00a0ms · 1.0 ×";
  assert.deepEqual(moreLines({ seconds: 0.37, peers }), [alone]);
  assert.deepEqual(moreLines({ seconds: 0.007, peers }), [`370\u00a0ms in the whole round · ${alone}`]);
});

test("the parts of a round sum to its wall time, what nothing explains included", () => {
  const parts = partsOf([25.4, 0, 18, 1.6, 0, 0, 8.1, 0, 0], 61.4);
  assert.deepEqual(parts.map((part) => part.name), ["compute", "encode", "apply", "transfer", "not recorded"]);
  assert.ok(Math.abs(parts.reduce((sum, part) => sum + part.seconds, 0) - 61.4) < 1e-9);
  assert.ok(Math.abs(parts.reduce((sum, part) => sum + part.share, 0) - 1) < 1e-9);
});

test("text on any colour keeps a contrast of 4.5", () => {
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  for (let red = 0; red < 256; red += 15) {
    for (let green = 0; green < 256; green += 15) {
      const colour = `#${[red, green, 120].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
      assert.ok(contrast(colour, inkOn(colour)) >= 4.5, colour);
    }
  }
  assert.equal(pixel("#010203"), 0xff030201);
});

test("times before now are said in the unit of their step", () => {
  assert.deepEqual([relativeLabel(0, 1e9), relativeLabel(-110e9, 10e9), relativeLabel(-240e9, 60e9), relativeLabel(-5e8, 1e8)], ["now", "-110 s", "-4 min", "-0.5 s"]);
});

test("the table lists what touches the view, newest first, and says how much it leaves out", () => {
  const store = new Store();
  store.apply(message(spans(Array.from({ length: 20 }, (_, i) => ({ start: i * 1000, duration: 500, id: i, lane: i % 2 })))));
  const layout = arrange([...store.lanes.values()], { group: "none", sort: "name", rows: "auto", filter: "", pins: new Set() });
  const { all, rows } = tableRows(store, layout, { from: 4_600_000, to: 12_000_000 }, 5);
  assert.equal(all, 7);
  assert.deepEqual(rows.map((row) => row.id), [11, 10, 9, 8, 7]);
});

test("the number of the last round is not cut off by the edge", () => {
  assert.deepEqual([inSight(998, 20, 1000), inSight(3, 20, 1000), inSight(500, 20, 1000)], [990, 10, 500]);
});

test("rounds that follow each other are told as a range, and of very many the last", () => {
  assert.equal(roundsText(Array.from({ length: 100 }, (_, i) => 200 + i), "step"), "steps 200 to 299");
  assert.deepEqual([roundsText([4], "round"), roundsText([8, 3, 7, 9], "round"), roundsText([5, 6], "round"), roundsText([], "round")], ["round 4", "rounds 3, 7 to 9", "rounds 5, 6", ""]);
  assert.equal(roundsText(Array.from({ length: 50 }, (_, i) => i * 2), "step"), "steps …, 88, 90, 92, 94, 96, 98");
});

test("what is only worth knowing is not among what is open, and an ended run keeps what is of no round", () => {
  const found = (id, severity, state, ...of) => ({ id, kind: "memory", severity, state, rounds: of });
  const all = [found(1, "warning", "open", 3), found(2, "warning", "open", 1), found(3, "info", "open"), found(4, "info", "resolved"), found(5, "warning", "resolved", 1)];
  const store = new Store();
  store.apply(message(findings(all)));
  const ids = (groups) => Object.fromEntries(Object.entries(groups).map(([name, listed]) => [name, listed.map(({ id }) => id)]));
  const at = (ended) => ids(grouped({ marks: store.marks, ended }, { index: 3 }));
  assert.deepEqual(at(false), { here: [1], others: [2], known: [3], whole: [] });
  assert.deepEqual(at(true).whole, [4]);
  assert.deepEqual([tagOf(all[0], "step"), tagOf(all[2], "step"), tagOf(all[4], "step")], ["open · step 3", "", "resolved · step 1"]);
});

test("a page that was opened at a time of the past counts the rounds that have begun since, and none before", () => {
  globalThis.location = { search: "?from=1790000000000000000&to=1790000001000000000", pathname: "/" };
  const page = new Page({}, { phase: "phase" });
  const begun = (index) => page.store.apply(message(steps([{ begin: index * 1e9, end: NaN, index, kinds: new Array(9).fill(NaN) }])));
  assert.equal(page.fresh(), 0, "nothing is known yet");
  [0, 1, 2].forEach(begun);
  page.settle();
  assert.equal(page.view.follow, false);
  assert.equal(page.fresh(), 0);
  begun(3);
  assert.equal(page.fresh(), 1);
  page.view.followNow();
  assert.equal(page.fresh(), 0);
});

test("a finding's heading is the name that the server gives it, and its phase", () => {
  assert.equal(headingOf({ name: "check failed:", phase: "to sync" }), "Check failed: to sync");
  assert.equal(headingOf({ name: "check failed", phase: "" }), "Check failed");
  assert.equal(headingOf({ name: "slow", phase: "encode" }), "Slow encode");
});

test("a finding says which thresholds it was judged with that are not the default", () => {
  const words = "Ratio: 3 ×, set for the run; the default is 1.5 ×";
  assert.equal(judgedText({ evidence: { thresholds: [{ words }] } }), `Judged with ${words}.`);
  assert.deepEqual([judgedText({ evidence: {} }), judgedText({})], ["", ""]);
});

const HOUR = 3600e6;
const MIN = 60e6;

/** The window, in minutes since its first phase, of a run of 2 min that ended as `state` and was told of an hour later. */
function drawnOf(state, ...more) {
  globalThis.location = { search: "", pathname: "/" };
  const page = new Page({}, { phase: "phase" });
  page.store.apply(message(
    meta({ run: { state, started_ns: String(1_790_000_000_000_000_000n), ended_ns: String(1_790_000_000_000_000_000n + 180_000_000_000n) } }),
    spans([{ start: 0, duration: 2 * MIN, id: 1, lane: 0, attempt: 0 }]),
    beats([{ heard: HOUR, number: 90, lane: 0, attempt: 0, state: 1 }]),
    samples([{ time: HOUR, series: 1, value: 1 }]),
    ...more,
  ));
  page.clock.hear(7200e9);
  page.settle();
  page.view.width = 1000;
  page.view.advance({ now: page.now(), ended: page.ended, earliest: page.store.begun, rounds: page.store.rounds.list() });
  const zero = page.store.fromUnix(1_790_000_000_000_000_000n);
  return [page.view.from, page.view.to].map((time) => Math.round(((time - zero) / 60e9) * 10) / 10 + 0);
}

test("a run that was told of long after is drawn from its begin to its own end", () => {
  assert.deepEqual(drawnOf("failed"), [0, 2]);
});

test("an ended run is drawn to where its workers say they ended, and a phase that was cut short is in sight", () => {
  assert.deepEqual(drawnOf("finished"), [0, 3.1]);
  assert.deepEqual(drawnOf("killed", opens([{ start: 2.5 * MIN, id: 9, lane: 0, attempt: 0, phase: 0, round: 0, progress: NaN }])), [0, 3.1]);
});
