// The stretch of seconds that several rounds show together: panning, zooming, ticks and keys.

import assert from "node:assert/strict";
import test from "node:test";
import { afterKey, panned, tickText, ticks, zoomed } from "../../dashboard/runs/static/runs/compare/axis.js";

const ALL = 60_000;
const whole = { from: 0, span: ALL };

test("zooming keeps what is at the anchor, and never shows more than all or less than nothing", () => {
  const half = zoomed(whole, 0.5, 0.25, ALL);
  assert.deepEqual(half, { from: 7_500, span: 30_000 });
  assert.equal(half.from + 0.25 * half.span, 0.25 * ALL);
  assert.deepEqual(zoomed(half, 100, 0.5, ALL), whole);
  assert.ok(zoomed(half, 0, 0.5, ALL).span > 0);
});

test("panning stops at both ends", () => {
  const half = { from: 7_500, span: 30_000 };
  assert.deepEqual(panned(half, 0.5, ALL), { from: 22_500, span: 30_000 });
  assert.deepEqual(panned(half, -5, ALL), { from: 0, span: 30_000 });
  assert.deepEqual(panned(half, 5, ALL), { from: 30_000, span: 30_000 });
  assert.deepEqual(panned(whole, 0.5, ALL), whole);
});

test("keys pan, zoom and show all; others are left to the browser", () => {
  const half = { from: 7_500, span: 30_000 };
  assert.deepEqual(afterKey(half, "d", ALL), afterKey(half, "ArrowRight", ALL));
  assert.ok(afterKey(half, "A", ALL).from < half.from);
  assert.ok(afterKey(half, "w", ALL).span < half.span);
  assert.ok(afterKey(half, "-", ALL).span > half.span);
  assert.deepEqual(afterKey(half, "0", ALL), whole);
  for (const key of ["Tab", "Enter", "x", "constructor"]) assert.equal(afterKey(half, key, ALL), null);
});

test("ticks stand at round seconds, wherever the stretch begins", () => {
  const texts = (view) => ticks(view).map(({ text }) => text.replace("\u00a0", " "));
  assert.deepEqual(texts({ from: 0, span: 22_000 }), ["0 s", "5 s", "10 s", "15 s", "20 s"]);
  assert.deepEqual(texts({ from: 0, span: 50_000 }), ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"]);
  const part = ticks({ from: 1_350, span: 1_000 });
  assert.deepEqual(part.map(({ text }) => text), ["1.4\u00a0s", "1.6\u00a0s", "1.8\u00a0s", "2.0\u00a0s", "2.2\u00a0s"]);
  assert.ok(Math.abs(part[0].x - 5) < 1e-6);
  assert.ok(part.every(({ x }) => x >= 0 && x <= 100));
});

test("what is said aloud is as fine as the stretch needs", () => {
  assert.equal(tickText(12_000, 60_000), "12\u00a0s");
  assert.equal(tickText(12_340, 5_000), "12.3\u00a0s");
  assert.equal(tickText(1.5, 2), "0.0015\u00a0s");
});
