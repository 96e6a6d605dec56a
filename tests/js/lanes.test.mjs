// Lanes are grouped, ordered, filtered and pinned, and each has its place.

import assert from "node:assert/strict";
import test from "node:test";
import { arrange, densityFor, rowAt } from "../../dashboard/live/static/live/js/lanes.js";

const OPTIONS = { group: "machine", sort: "name", rows: "auto", filter: "", pins: new Set() };
const lane = (index, name, machine, extra = {}) => ({ index, info: { name, machine, role: "trainer", ...extra } });
const LANES = [
  lane(0, "host-10", "m-a"), lane(1, "host-2", "m-b"), lane(2, "coordinator", "m-c", { role: "coordinator", site: "Oslo" }),
  lane(3, "host-1", "m-a"), lane(4, "host-3", "m-d"),
];
const seen = (layout) => layout.rows.map((row) => (row.lane ? row.lane.info.name : `[${row.label}]`));

test("the coordinator stands first, shared machines next, then those alone on theirs", () => {
  assert.deepEqual(seen(arrange(LANES, OPTIONS)), [
    "[coordinator · Oslo]", "coordinator", "[machine m-a · 2 workers]", "host-1", "host-10", "[2 more machines · 2 workers]", "host-2", "host-3",
  ]);
});

test("without groups lanes stand in order as people count", () => {
  assert.deepEqual(seen(arrange(LANES, { ...OPTIONS, group: "none" })), ["coordinator", "host-1", "host-2", "host-3", "host-10"]);
});

test("slowest first orders by busy time, arrival by index", () => {
  const busy = new Map([[0, 5], [1, 50], [4, 20]]);
  const options = { ...OPTIONS, group: "none" };
  assert.deepEqual(seen(arrange(LANES, { ...options, sort: "slowest" }, busy)).slice(0, 3), ["host-2", "host-3", "host-10"]);
  assert.deepEqual(seen(arrange(LANES, { ...options, sort: "arrival" }))[0], "host-10");
});

test("a filter keeps lanes that hold all its words, in name, host, machine, site or role", () => {
  assert.deepEqual(seen(arrange(LANES, { ...OPTIONS, group: "none", filter: "HOST m-a" })), ["host-1", "host-10"]);
  assert.deepEqual(seen(arrange(LANES, { ...OPTIONS, filter: "nothing like it" })), []);
});

test("pinned lanes stand above all others, once", () => {
  const rows = seen(arrange(LANES, { ...OPTIONS, pins: new Set(["host-3"]) }));
  assert.deepEqual(rows.slice(0, 2), ["[pinned]", "host-3"]);
  assert.equal(rows.filter((name) => name === "host-3").length, 1);
});

test("rows fill the height without holes, and are found by it", () => {
  const layout = arrange(LANES, OPTIONS);
  let y = 0;
  layout.rows.forEach((row, i) => {
    assert.equal(row.y, y);
    assert.equal(rowAt(layout.rows, y), i);
    assert.equal(rowAt(layout.rows, y + row.height - 0.5), i);
    y += row.height;
  });
  assert.equal(layout.height, y);
  assert.equal(rowAt(layout.rows, y), -1);
  assert.equal(rowAt(layout.rows, -1), -1);
});

test("a thousand lanes are one pixel each unless asked otherwise", () => {
  const many = Array.from({ length: 1024 }, (_, i) => lane(i, `r-${i}`, `m-${i}`));
  assert.equal(arrange(many, OPTIONS).height, 1024);
  assert.equal(arrange(many, { ...OPTIONS, rows: "compact" }).density, "compact");
  assert.deepEqual([64, 65, 257].map((count) => densityFor("auto", count)), ["comfortable", "compact", "overview"]);
});
