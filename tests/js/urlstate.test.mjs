// A link shows another person exactly this, and a broken one does no harm.

import assert from "node:assert/strict";
import test from "node:test";
import { defaults, format, parse } from "../../dashboard/live/static/live/js/urlstate.js";

test("the page as it first opens has no query", () => {
  assert.equal(format(defaults()), "");
  assert.deepEqual(parse(""), defaults());
});

test("every state survives the way through the URL", () => {
  const state = {
    group: "none", sort: "slowest", rows: "compact", show: "table", track: "host_pressure_cpu & <b>", filter: "host & <b>", pins: ["a/b", "ü"], round: 4,
    selection: { attempt: 3, id: 4_000_000_000 }, mark: 1_790_000_000_000_000_001n,
    window: { from: 1_790_000_000_000_000_001n, to: 1_790_000_000_000_000_009n }, extent: null,
  };
  assert.deepEqual(parse(format(state)), state);
  const following = { ...state, window: null, extent: { rounds: 5 } };
  assert.deepEqual(parse(format(following)), following);
});

test("what makes no sense is left at its default", () => {
  const hostile = "group=<script>&sort=__proto__&rows=9&show=&round=-1&sel=1&from=5&to=1&follow=zz&mark=1e9&sel=a.b";
  assert.deepEqual(parse(hostile), defaults());
});
