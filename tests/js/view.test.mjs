// The window of time follows, pauses, zooms and pans as a person expects.

import assert from "node:assert/strict";
import test from "node:test";
import { View, extentText, parseExtent } from "../../dashboard/live/static/live/js/view.js";
import { extentsOf } from "../../dashboard/live/static/live/js/toolbar.js";
import { ticks } from "../../dashboard/live/static/live/js/axis.js";

const S = 1e9;
const rounds = (wall, count) => Array.from({ length: count }, (_, i) => ({ index: i, begin: i * wall, end: (i + 1) * wall, closed: true }));

function following(extra = {}) {
  const view = new View();
  view.width = 1000;
  view.advance({ now: 500 * S, ended: false, earliest: 0, rounds: rounds(50 * S, 10), ...extra });
  return view;
}

test("it follows the last three rounds, with now a little left of the edge", () => {
  const view = following();
  const [left, now] = [view.time(0), view.x(500 * S)];
  assert.ok(Math.abs(left - 350 * S) < 2 * S, `${left}`);
  assert.ok(now > 920 && now < 940);
});

test("without closed rounds it follows two minutes, less while there is less", () => {
  assert.ok(Math.abs(following({ rounds: [] }).span - 120 * S) < S);
  const young = new View();
  young.width = 1000;
  young.advance({ now: 10 * S, ended: false, earliest: 0, rounds: [] });
  assert.equal(young.span, 30 * S);
});

test("rounds that are optimizer steps do not make it race", () => {
  assert.equal(following({ rounds: rounds(0.2 * S, 2500) }).span, 120 * S);
});

test("of rounds that are too short to follow one by one, stretches of time are offered and no numbers of rounds", () => {
  assert.equal(following().brief, false);
  const { brief, extent } = following({ rounds: rounds(0.2 * S, 2500) });
  assert.equal(brief, true);
  assert.deepEqual(extentsOf(extent, brief).map(([, label]) => label), ["Newest", "30 s", "2 min", "10 min", "1 h", "Whole run"]);
  assert.equal(extentsOf(extent, false)[0][1], "Last 3 rounds");
});

test("a window that is not offered has an entry of its own", () => {
  assert.deepEqual(extentsOf({ span: 7.5 * S }, true).at(-1), ["7.5s", "7.5 s"]);
  assert.deepEqual(extentsOf({ rounds: 7 }, false).at(-1), ["7r", "Last 7 rounds"]);
  assert.deepEqual(extentsOf({ rounds: 7 }, true).at(-1), ["7r", "Newest"]);
});

test("while following it moves in whole pixels only", () => {
  const view = following();
  const pixel = view.perPixel;
  const at = (pixels) => view.advance({ now: 500 * S + pixel * pixels, ended: false, earliest: 0, rounds: rounds(50 * S, 10) });
  at(0.3);
  const before = view.from;
  assert.equal(at(0.6), false);
  assert.equal(at(7.6), true);
  assert.ok(Math.abs((view.from - before) / pixel - 7) < 1e-6);
});

test("zooming while following keeps following; panning pauses", () => {
  const view = following();
  view.zoom(0.5, 0);
  assert.equal(view.follow, true);
  view.advance({ now: 500 * S, ended: false, earliest: 0, rounds: [] });
  assert.ok(view.span < 80 * S);
  view.pan(-0.5);
  assert.equal(view.follow, false);
  assert.equal(view.advance({ now: 900 * S, ended: false, earliest: 0, rounds: [] }), false);
});

test("zooming while paused keeps the time under the pointer", () => {
  const view = new View();
  view.width = 1000;
  view.show(0, 100 * S);
  view.zoom(0.1, 0.25);
  assert.ok(Math.abs(view.time(250) - 25 * S) < 1);
  assert.ok(Math.abs(view.to - view.from - 10 * S) < 1);
});

test("extents are written as they are read, nonsense is none", () => {
  for (const text of ["3r", "120s", "all", "0.5s"]) assert.equal(extentText(parseExtent(text)), text);
  for (const text of ["", null, "3", "-1r", "1e9s", "r", "99999999999s", "<b>"]) assert.equal(parseExtent(text), null, text);
});

test("ticks count back from now while following, and stand on round times of day when paused", () => {
  const view = following();
  const found = ticks(view, 500 * S, () => 0n);
  assert.equal(found[0].label, "now");
  assert.match(found[1].label, /^-\d+ s$/);
  view.show(0, 60 * S);
  const unix = (time) => 1_790_000_000_123_000_000n + BigInt(Math.round(time));
  for (const { time } of ticks(view, 500 * S, unix)) assert.equal(unix(time) % 5_000_000_000n, 0n);
});
