// Lanes keep their spans in order, whatever order they came in, and find them again.

import assert from "node:assert/strict";
import test from "node:test";
import { Seen } from "../../dashboard/live/static/live/js/seen.js";
import { LaneSpans } from "../../dashboard/live/static/live/js/spans.js";
import { random } from "./frames_of.mjs";

function filled(seed, count) {
  const pick = random(seed);
  const lane = new LaneSpans();
  const plain = [];
  for (let id = 0; id < count; id++) {
    const start = pick(2) ? id * 10 : pick(count * 10);
    const span = { start, end: start + pick(pick(9) ? 30 : 3000), id };
    plain.push(span);
    lane.add(span.start, span.end, id, 0, 1, 2, 3, 4);
    if (pick(40) === 0) lane.settle();
  }
  lane.settle();
  return { lane, plain: plain.sort((a, b) => a.start - b.start || a.id - b.id), pick };
}

test("spans stand in order of start, then id, whatever order they came in", () => {
  for (let seed = 1; seed < 20; seed++) {
    const { lane, plain } = filled(seed, 50 * seed);
    assert.deepEqual([...lane.id.subarray(0, lane.count)], plain.map((span) => span.id));
    assert.deepEqual([...lane.end.subarray(0, lane.count)], plain.map((span) => span.end));
  }
});

test("a window meets exactly the spans that touch it", () => {
  for (let seed = 1; seed < 12; seed++) {
    const { lane, plain, pick } = filled(seed, 900);
    for (let look = 0; look < 20; look++) {
      const from = pick(9000);
      const to = from + 1 + pick(500);
      const found = [];
      lane.each(from, to, (i) => found.push(lane.id[i]));
      assert.deepEqual(found, plain.filter((span) => span.start < to && span.end >= from).map((span) => span.id));
    }
  }
});

test("what is dropped is gone, and the rest still answers", () => {
  const { lane, plain } = filled(5, 700);
  const gone = lane.dropBefore(3000);
  assert.equal(gone, plain.filter((span) => span.start < 3000).length);
  const found = [];
  lane.each(0, 1e9, (i) => found.push(lane.id[i]));
  assert.deepEqual(found, plain.filter((span) => span.start >= 3000).map((span) => span.id));
  assert.equal(lane.find(1, plain[0].id), -1);
  assert.equal(lane.id[lane.find(1, plain.at(-1).id)], plain.at(-1).id);
});

test("what has been seen is known, and nothing else", () => {
  const pick = random(3);
  const seen = new Seen(16);
  const plain = new Set();
  for (let i = 0; i < 20_000; i++) {
    const [attempt, id] = [pick(50), pick(2) ? pick(1000) : 4_294_967_295 - pick(1000)];
    assert.equal(seen.has(attempt, id), plain.has(`${attempt}.${id}`));
    assert.equal(seen.add(attempt, id), !plain.has(`${attempt}.${id}`));
    plain.add(`${attempt}.${id}`);
  }
  assert.equal(seen.size, plain.size);
});
