// A row of pixels says what the rule says, pixel by pixel.

import assert from "node:assert/strict";
import test from "node:test";
import { FLAG } from "../../dashboard/live/static/live/js/frames.js";
import { Raster, winner } from "../../dashboard/live/static/live/js/raster.js";
import { LaneSpans } from "../../dashboard/live/static/live/js/spans.js";
import { random } from "./frames_of.mjs";

const COLOURS = Uint32Array.from({ length: 64 }, (_, phase) => phase + 1);
const FAILED = 999;

function laneOf(spans, open = []) {
  const lane = { open, spans: new LaneSpans() };
  for (const { start, end, id, phase, flags = 0 } of spans) lane.spans.add(start, end, id, 0, 0, phase, flags, 0);
  return lane;
}

function rowOf(lane, { from = 0, to = 100, width = 10, selected = null, minimum = Infinity } = {}) {
  const raster = new Raster(width, { from, perPixel: (to - from) / width, colours: COLOURS, failed: FAILED, selected, minimum });
  const out = new Uint32Array(width);
  raster.row(lane, out, 0);
  return { out: [...out], wide: raster.wide };
}

/** The rule, said as plainly as can be: for each pixel, over all spans. */
function plainly(spans, width, from, to) {
  const perPixel = (to - from) / width;
  return Array.from({ length: width }, (_, pixel) => {
    let best = null;
    for (const span of [...spans].sort((a, b) => a.start - b.start || a.id - b.id)) {
      const [x0, x1] = [(span.start - from) / perPixel, (span.end - from) / perPixel];
      const touches = x0 === x1 ? Math.floor(x0) === pixel : x0 < pixel + 1 && x1 > pixel;
      if (!touches) continue;
      const rank = span.flags & 3 ? 2 : span.flags & FLAG.SLOW ? 1 : 0;
      const points = rank * 2 + Math.min(x1, pixel + 1) - Math.max(x0, pixel);
      if (!best || points >= best.points) best = { points, colour: rank === 2 ? FAILED : span.phase + 1 };
    }
    return best?.colour ?? 0;
  });
}

test("random lanes are painted as the rule says", () => {
  for (let seed = 1; seed < 40; seed++) {
    const pick = random(seed);
    const spans = Array.from({ length: 5 + pick(600) }, (_, id) => {
      const start = pick(4000);
      const flags = [0, 0, 0, 0, FLAG.NESTED, FLAG.SLOW, FLAG.ERROR, FLAG.ABORTED][pick(8)];
      return { start, end: start + pick(pick(5) ? 20 : 900), id, phase: pick(9), flags };
    });
    const [from, width] = [pick(2000), 1 + pick(300)];
    const to = from + width * (1 + pick(16)) / 4;
    assert.deepEqual(rowOf(laneOf(spans), { from, to, width }).out, plainly(spans, width, from, to), `seed ${seed}`);
  }
});

test("the longest overlap wins a pixel, the later of two equal ones", () => {
  assert.deepEqual(rowOf(laneOf([{ start: 0, end: 6, id: 1, phase: 0 }, { start: 6, end: 10, id: 2, phase: 1 }]), { width: 1, to: 10 }).out, [1]);
  assert.deepEqual(rowOf(laneOf([{ start: 0, end: 5, id: 1, phase: 0 }, { start: 5, end: 10, id: 2, phase: 1 }]), { width: 1, to: 10 }).out, [2]);
});

test("a nested phase shows within its parent", () => {
  const { out } = rowOf(laneOf([{ start: 0, end: 100, id: 1, phase: 0 }, { start: 30, end: 50, id: 2, phase: 1, flags: FLAG.NESTED }]));
  assert.deepEqual(out, [1, 1, 1, 2, 2, 1, 1, 1, 1, 1]);
});

test("however short, a failed phase wins over a healthy one, and a selected one over both", () => {
  const lane = laneOf([{ start: 0, end: 100, id: 1, phase: 0 }, { start: 14, end: 15, id: 2, phase: 1, flags: FLAG.ERROR }, { start: 16, end: 17, id: 3, phase: 2 }]);
  assert.equal(rowOf(lane).out[1], FAILED);
  assert.equal(rowOf(lane, { selected: { attempt: 0, id: 3 } }).out[1], 3);
});

test("an instant phase is one pixel, time without a phase is none", () => {
  assert.deepEqual(rowOf(laneOf([{ start: 35, end: 35, id: 1, phase: 4 }])).out, [0, 0, 0, 5, 0, 0, 0, 0, 0, 0]);
});

test("an open phase is drawn as far as it has grown, under what ended within it", () => {
  const open = { attempt: 0, id: 1, start: 20, end: 60, phase: 0, flags: 0 };
  const { out, wide } = rowOf(laneOf([{ start: 30, end: 40, id: 2, phase: 1 }], [open]));
  assert.deepEqual(out, [0, 0, 1, 2, 1, 1, 0, 0, 0, 0]);
  assert.equal(wide.length, 1);
  assert.equal(wide[0].open, open);
});

test("what is pointed at is what is seen", () => {
  const lane = laneOf([{ start: 0, end: 100, id: 1, phase: 0 }, { start: 14, end: 15, id: 2, phase: 1, flags: FLAG.ERROR }, { start: 50, end: 60, id: 3, phase: 2 }]);
  const idAt = (from, to) => lane.spans.id[winner(lane, from, to).index];
  assert.equal(idAt(10, 20), 2);
  assert.equal(idAt(20, 30), 1);
  assert.equal(idAt(52, 53), 3);
  assert.equal(winner(laneOf([]), 0, 10), null);
});
