// What a finding's card leads to and shows: each worker once, and stacks only as far as they make sense.

import assert from "node:assert/strict";
import test from "node:test";
import { markedBars } from "../../dashboard/live/static/live/js/findingcard.js";
import { takenStacks } from "../../dashboard/live/static/live/js/findingstacks.js";

test("a worker that is slow in many rounds is named once, and leads to its bar in the round looked at", () => {
  const spans = [[0, 10, 3, 1], [1, 11, 4, 1], [0, 20, 3, 2], [0, 30, 3, 3]];
  assert.deepEqual(markedBars({ spans }, 2), [{ attempt: 0, id: 20, lane: 3 }, { attempt: 1, id: 11, lane: 4 }]);
  assert.deepEqual(markedBars({ spans }, undefined)[0], { attempt: 0, id: 30, lane: 3 });
  assert.deepEqual(markedBars({ spans }, 9)[0], { attempt: 0, id: 30, lane: 3 });
  assert.deepEqual(markedBars({}, 1), []);
  assert.equal(markedBars({ spans: Array.from({ length: 50 }, (_, i) => [i, i, i, 1]) }, 1).length, 8);
});

test("stacks that make no sense are left out", () => {
  const frames = [["job/train.py", 16, "encode"]];
  const evidence = { stacks: [
    { attempt: 1, start: 7, lane: 2, time_ns: "1790000000000000000", threads: [{ name: "main", frames }, { name: "odd" }], failed: "" },
    { attempt: 2, start: 8, lane: 3, time_ns: "soon", threads: null, failed: "no such process" },
  ] };
  const [first, second] = takenStacks({ id: "f", evidence });
  assert.deepEqual(first, { key: "f/1.7", lane: 2, time: 1790000000000000000n, threads: [{ name: "main", frames }], failed: "" });
  assert.deepEqual(second, { key: "f/2.8", lane: 3, time: null, threads: [], failed: "no such process" });
  assert.deepEqual(takenStacks({ id: "f", evidence: {} }), []);
  assert.deepEqual(takenStacks({ id: "f" }), []);
});
