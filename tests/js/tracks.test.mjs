// A reading stands under the lanes that it speaks of: a worker's own, those who hold a device, else its machine's last.

import assert from "node:assert/strict";
import test from "node:test";
import { arrange } from "../../dashboard/live/static/live/js/lanes.js";
import { Samples } from "../../dashboard/live/static/live/js/samples.js";
import { sampled, scaleOf, words } from "../../dashboard/live/static/live/js/trackpaint.js";
import { choices, titleOf, tracksOf } from "../../dashboard/live/static/live/js/tracks.js";

const lane = (index, machine) => ({ index, info: { name: `rank-${index}`, machine, host: `host-${machine}`, role: "trainer" } });
const LANES = [lane(0, "a"), lane(1, "a"), lane(2, "b")];
const OPTIONS = { group: "none", sort: "name", rows: "auto", filter: "", pins: new Set() };

function made(...series) {
  const samples = new Samples();
  series.forEach(([metric, more], id) => samples.describe({ series: id, metric, unit: "ratio", source: "host", device: "", lane: null, machine: "", ...more }));
  return samples;
}

function seen(samples, metric, options = {}) {
  const layout = arrange(LANES, { ...OPTIONS, ...options }, new Map(), tracksOf(samples, metric));
  return layout.rows.map((row) => row.lane?.info.name ?? (row.track ? row.track.ids.join() : `[${row.label}]`));
}

test("a worker's own reading stands under its lane alone", () => {
  const samples = made(["cpu", { lane: 1, machine: "a" }], ["memory", { lane: 0, machine: "a" }]);
  assert.deepEqual(seen(samples, "cpu"), ["rank-0", "rank-1", "0", "rank-2"]);
  assert.deepEqual(seen(samples, ""), ["rank-0", "rank-1", "rank-2"]);
});

test("a machine's reading stands once, under the last of its lanes in a row", () => {
  const samples = made(["cpu", { machine: "a" }], ["cpu", { machine: "b" }], ["cpu", { machine: "elsewhere" }]);
  assert.deepEqual(seen(samples, "cpu"), ["rank-0", "rank-1", "0", "rank-2", "1"]);
  assert.deepEqual(seen(samples, "cpu", { group: "machine" }).filter((name) => !name.startsWith("[")), ["rank-0", "rank-1", "0", "rank-2", "1"]);
});

test("a device stands under the lanes whose processes hold it, two that share it included", () => {
  const held = (device, of) => ["process_gpu_memory_bytes", { device, lane: of, machine: "a" }];
  const busy = (device, machine) => ["busy", { device, machine }];
  const samples = made(held("x", 0), held("y", 1), held("x", 1), busy("x", "a"), busy("y", "a"), busy("x", "b"));
  assert.deepEqual(seen(samples, "busy"), ["rank-0", "3", "rank-1", "3,4", "rank-2", "5"]);
});

test("the overview has no room for readings, and rows stay one under the other", () => {
  const samples = made(["cpu", { lane: 0, machine: "a" }]);
  assert.deepEqual(seen(samples, "cpu", { rows: "overview" }), ["rank-0", "rank-1", "rank-2"]);
  const { rows, height } = arrange(LANES, OPTIONS, new Map(), tracksOf(samples, "cpu"));
  assert.deepEqual(rows.map((row) => row.y + row.height), [...rows.slice(1).map((row) => row.y), height]);
});

test("whatever is not a mere count can be chosen, and foreign names stay as they are", () => {
  const samples = made(["cgroup_cpu_throttled_ratio", { lane: 0 }], ["cgroup_cpu_throttled_seconds_total", { lane: 0 }], ["gpu_sm_active_ratio", {}], ["__proto__", { source: "training" }], ["constructor", {}]);
  assert.deepEqual(choices(samples), [["__proto__", "__proto__"], ["constructor", "constructor"], ["cgroup_cpu_throttled_ratio", "CPU throttled"], ["gpu_sm_active_ratio", "GPU SM active"]]);
  assert.equal(titleOf({ metric: "\u202eabc", source: "training" }), "\u2068abc\u2069");
});

test("a track says its value at the cursor and its lowest and highest in view, with units", () => {
  const samples = made(["cpu", { lane: 0, machine: "a" }]);
  const line = samples.lines.get(0);
  [[0, 0.9], [10, 0.1], [12, 0.5], [14, 0.3], [16, 0.2]].forEach(([second, value]) => line.add(second * 1e9, value));
  const view = { from: 9.99e9, to: 14e9, width: 401, perPixel: 1e7, x: (time) => (time - 9.99e9) / 1e7 };
  const [row] = arrange([LANES[0]], OPTIONS, new Map(), tracksOf(samples, "cpu")).rows.filter((one) => one.track);
  const told = words(sampled(row, { store: { samples }, view, cursor: 12.2e9 }));
  assert.deepEqual([told.value, told.range].map((text) => text.replaceAll("\u00a0", " ")), ["50 %", "10 % to 90 %"]);
  assert.match(told.title, /^CPU of rank-0: 50/);
  const between = words(sampled(row, { store: { samples }, view: { ...view, from: 14.4e9, to: 14.6e9, perPixel: 0.2e9 / 401 }, cursor: null }));
  assert.deepEqual([between.value, between.range].map((text) => text.replaceAll("\u00a0", " ")), ["30 %", "30 % to 30 %"]);
  assert.equal(sampled({ track: { ids: [7] } }, { store: { samples }, view, cursor: null }), null);
});

test("all tracks have one scale: whole shares, from zero, but for what training code logs", () => {
  assert.deepEqual(scaleOf({ source: "host", unit: "ratio" }, [[0, 0.2]], 0.2), [0, 1]);
  assert.deepEqual(scaleOf({ source: "host", unit: "bytes" }, [], 900), [0, 1000]);
  assert.deepEqual(scaleOf({ source: "training", unit: "" }, [[2, 3], [-1, 1]], 3).map((one) => Number(one.toFixed(3))), [-1.4, 3.4]);
  assert.deepEqual(scaleOf({ source: "training", unit: "" }, [], NaN), [0, 1]);
});
