// The charts of metrics: names are text, silence is a gap, and values have their unit.

import assert from "node:assert/strict";
import test from "node:test";
import { broken, chartOf, formatOf, nameOf, shown } from "../../dashboard/runs/static/runs/metrics/figures.js";
import { matches } from "../../dashboard/runs/static/runs/settings.js";
import { plain } from "../../dashboard/static/rw/charts.js";

const COLOURS = { series: ["#111111", "#222222"] };
const line = (more) => ({ worker: "rank-0", host: "", device: "", t: [0, 1, 2], round: [0, -1, 1], value: [3, 2, null], ...more });
const answer = (lines) => ({ metric: "loss", unit: "<b>", lines });

test("a line is broken where nothing was read for long", () => {
    assert.deepEqual(broken([0, 10, 20, 500, 510], [1, 2, 3, 4, 5]), { x: [0, 10, 20, 500, 500, 510], y: [1, 2, 3, null, 4, 5] });
    assert.deepEqual(broken([7], [1]), { x: [7], y: [1] });
});

test("names and units reach plotly as text, and lines past the colours differ in their dashes", () => {
    const lines = ["<a href='x'>1</a>", "b", "c"].map((worker) => line({ worker }));
    const { data, layout } = chartOf(answer(lines), "time", COLOURS, plain);
    assert.equal(data[0].name, "&lt;a href='x'>1&lt;/a>");
    assert.equal(layout.yaxis.ticksuffix, " &lt;b>");
    assert.deepEqual(data.map(({ line: { color, dash } }) => [color, dash]), [["#111111", "solid"], ["#222222", "solid"], ["#111111", "dash"]]);
});

test("over rounds a reading outside of all of them is left out", () => {
    const [{ x, y }] = chartOf(answer([line()]), "round", COLOURS, plain).data;
    assert.deepEqual([x, y], [[0, 1], [3, null]]);
});

test("a line is called by its worker, or by its machine, and its device", () => {
    assert.equal(nameOf(line({ device: "GPU-0" })), "rank-0 · GPU-0");
    assert.equal(nameOf(line({ worker: "", host: "node1" })), "node1");
    assert.equal(nameOf(line({ worker: "" })), "machine");
});

test("values have their unit and no more digits than they are worth", () => {
    assert.deepEqual([shown(0.123456, "loss"), shown(null, "loss"), shown(1e9, "loss"), shown(0, "loss")], ["0.12346", "–", "1.000e+9", "0"]);
    assert.equal(shown(2 ** 31, "process_memory_bytes"), "2.0 GiB");
    assert.equal(shown(0.5, "gpu_utilisation_ratio"), "50.0 %");
    assert.equal(formatOf("gpu_utilisation_ratio", "").tickformat, ".0%");
});

test("a setting is found by all words of a search in its path or value, whatever their case", () => {
    assert.ok(matches("optimizer.name AdamW", "adam opt"));
    assert.ok(matches("anything", ""));
    assert.ok(!matches("optimizer.name AdamW", "adam lr"));
});
