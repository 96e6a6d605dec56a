// What is said of thread stacks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { whereText, wordedEvent } from "../../dashboard/live/static/live/js/eventwords.js";
import { silenceText, subjectOf, takenText } from "../../dashboard/live/static/live/js/stacks.js";

const plain = (text) => text.replace(/[\u2068\u2069\u00a0]/g, (char) => (char === "\u00a0" ? " " : ""));

test("a thread is named by the innermost thing that it does", () => {
  const frames = [["job/train.py", 16, "encode"], ["job/train.py", 40, "<module>"]];
  assert.equal(plain(whereText({ name: "main", frames })), "main · encode (job/train.py:16)");
  assert.equal(plain(whereText({ name: "main", frames: [["x.py", 0, "f"]] })), "main · f (x.py:?)");
  assert.equal(plain(whereText({ name: "thread 2", frames: [] })), "thread 2 · no Python code");
});

test("a name cannot turn what stands after it", () => {
  const text = whereText({ name: "\u202eevil", frames: [["a.py", 1, "f\u202e"]] });
  assert.ok(!text.includes("\u202e"));
});

test("an event of stacks says where the main thread was, and leaves the rest to the panel", () => {
  const worded = (attrs) => wordedEvent({ name: "stacks", attrs }, { round: "round" });
  const threads = [{ name: "main", frames: [["a.py", 7, "encode"]], more: 0 }, { name: "b", frames: [] }];
  const { lines, rest } = worded({ start: 3, threads, left_out: 4, note: 1 });
  assert.deepEqual(lines.map(plain), ["its thread stacks were taken: main · encode (a.py:7)", "and 5 other threads"]);
  assert.deepEqual(rest, { note: 1 });
  assert.deepEqual(worded({ failed: "it is stopped" }).lines.map(plain), ["its thread stacks could not be taken: it is stopped"]);
  for (const hostile of [3, [null], [{ frames: 1 }], [{ frames: [7] }], { frames: [] }]) assert.deepEqual(worded({ threads: hostile }).lines, []);
  assert.match(plain(worded({ threads: [{ frames: [[{}, -1]] }] }).lines[0]), /\(\{\}:-1\)/);
});

test("an event of stacks opens those of its phase, no other event any", () => {
  const event = { event: true, name: "stacks", attempt: 2, id: 9 };
  assert.deepEqual(subjectOf(event, { attrs: { start: 7 } }), { attempt: 2, id: 7, open: false });
  assert.equal(subjectOf(event, null), null);
  assert.equal(subjectOf(event, { attrs: { start: "7" } }), null);
  assert.equal(subjectOf({ ...event, name: "gc" }, { attrs: { start: 7 } }), null);
  assert.equal(subjectOf(null, null), null);
  const phase = { attempt: 2, id: 4, open: null };
  assert.equal(subjectOf(phase, null), phase);
});

test("silence says how long its host has been silent, and where it is not what that may mean", () => {
  assert.equal(plain(silenceText(42)), "Not answered within 10 s: the host's shipper was last heard 42 s ago.");
  assert.match(plain(silenceText(0.5)), /< 1 s ago: its agent may be too old/);
});

test("stacks say how far into the phase they were taken, never before it", () => {
  assert.match(plain(takenText({ after_s: 12.34, time_ns: "1764000000000000000" })), /^taken 12\.3 s into the phase, at \d\d:\d\d:\d\d$/);
  assert.match(plain(takenText({ after_s: -0.01, time_ns: "1764000000000000000" })), /^taken 0 µs into/);
});
