// What is said of a census of live tensors.

import assert from "node:assert/strict";
import { test } from "node:test";

import { groupsOf } from "../../dashboard/live/static/live/js/census.js";
import { wordedEvent } from "../../dashboard/live/static/live/js/eventwords.js";

const plain = (text) => text.replace(/[\u2068\u2069\u00a0]/g, (char) => (char === "\u00a0" ? " " : ""));
const worded = (attrs) => wordedEvent({ name: "census", attrs }, { round: "step" });
const said = (attrs) => worded(attrs).lines.map(plain);

const group = { device: "cuda:0", dtype: "float32", from_bytes: 1024, below_bytes: 16384, tensors: 7, storages: 5, bytes: 40960, new_bytes: 0, old_bytes: 40960, oldest_rounds: 3 };
const sum = { seconds: 0.012, tensors: 8, storages: 6, bytes: 3 << 20, new_bytes: 1 << 20, old_bytes: 2 << 20, old_rounds: 2, oldest_rounds: 3, objects: 5000 };

test("a census says what it cost, what lives, for how long, and the largest sort", () => {
  assert.deepEqual(said({ ...sum, groups: [group], rounds_since: 1 }), [
    "a census of live tensors paused the process for 12 ms",
    "8 tensors on 6 blocks of memory hold 3.0 MiB",
    "2.0 MiB of it for 2 steps or more, 1.0 MiB new since the last census, 1 step before",
    "most: 7 tensors of float32 on cuda:0, 1.0 KiB to 16.0 KiB each, hold 40.0 KiB",
  ]);
  assert.equal(said({ ...sum, groups: [], rounds_since: 0 })[2], "2.0 MiB of it for 2 steps or more, 1.0 MiB new since the last census, in the same step");
  assert.match(said({ ...sum, groups: [], rounds_since: 0, old_rounds: 5 })[2], /^2.0 MiB of it for 5 steps or more, /);
  assert.match(said({ ...sum, groups: [], rounds_since: 0, old_rounds: undefined })[2], /^2.0 MiB of it old, /);
  assert.equal(said(sum)[2], "it is the first: how many steps they stay is known from the next on");
});

test("every sort that an event tells is shown, whatever the agent's limit", () => {
  assert.equal(groupsOf({ groups: Array(64).fill(group) }).length, 64);
});

test("what it did not see it says", () => {
  const lines = said({ objects: 4000, cut_of_objects: 300000, frozen: 1, unread: 2, ageless: 3, left_out: 4, allocated: { "cuda:1": 1 << 30 } });
  assert.deepEqual(lines.slice(1), [
    "torch’s allocator has given out 1.0 GiB on cuda:1",
    "it stopped after 4,000 objects of 300,000: no time for the others",
    "1 frozen object not looked at",
    "2 tensors without plain memory not counted",
    "no age is kept of 3 blocks of memory",
    "4 censuses before it not taken, too soon after the last",
  ]);
});

test("sizes at both ends are told by the one bound they have", () => {
  const most = (bounds) => said({ groups: [{ ...group, below_bytes: undefined, ...bounds }] })[1];
  assert.match(most({ from_bytes: 0, below_bytes: 1024 }), /, below 1.0 KiB each, /);
  assert.match(most({ from_bytes: 1 << 30 }), /, 1.0 GiB or more each, /);
});

test("an event that a training calls so tells no more than it holds, and turns nothing", () => {
  const { lines, rest } = worded({ note: 1, groups: "no", seconds: "long", bytes: {}, allocated: [3], frozen: -1 });
  assert.deepEqual(lines, ["a census of live tensors"]);
  assert.deepEqual(rest, { note: 1 });
  for (const groups of [3, null, {}, [null, 3, "x", [7]]]) assert.deepEqual(groupsOf({ groups }), []);
  for (const wrong of [{ device: {} }, { dtype: undefined }, { bytes: "7" }, { tensors: null }]) assert.deepEqual(groupsOf({ groups: [{ ...group, ...wrong }] }), []);
  const [, line] = worded({ groups: [{ ...group, dtype: "\u202eevil" }] }).lines;
  assert.ok(!line.includes("\u202e"));
});
