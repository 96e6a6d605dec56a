// What is said of thread stacks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { silenceText, takenText, whereText } from "../../dashboard/live/static/live/js/stacks.js";

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

test("silence says how long its host has been silent, and where it is not what that may mean", () => {
  assert.equal(plain(silenceText(42)), "Not answered within 10 s: the host's shipper was last heard 42 s ago.");
  assert.match(plain(silenceText(0.5)), /< 1 s ago: its agent may be too old/);
});

test("stacks say how far into the phase they were taken, never before it", () => {
  assert.match(plain(takenText({ after_s: 12.34, time_ns: "1764000000000000000" })), /^taken 12\.3 s into the phase, at \d\d:\d\d:\d\d$/);
  assert.match(plain(takenText({ after_s: -0.01, time_ns: "1764000000000000000" })), /^taken 0 µs into/);
});
