// The heat map's figures: medians without who has no such phase, ratios, orders, colours and where keys lead.

import assert from "node:assert/strict";
import test from "node:test";
import { Figures, colourOf, ratioText, scaleOf } from "../../dashboard/live/static/live/heat/figures.js";
import { cellAt, frameOf, moved, sizes } from "../../dashboard/live/static/live/heat/map.js";
import { stretch } from "../../dashboard/live/static/live/heat/table.js";

const encoded = (values) => Buffer.from(new Float32Array(values).buffer).toString("base64");
const figures = (rows, more = {}) => new Figures({ phase: "encode", workers: rows.map((_, i) => `host-${i}`), rounds: rows[0].map((_, i) => i + 3), seconds: encoded(rows.flat()), earlier: false, later: false, ...more });
const COLOURS = { low: "#0000ff", even: "#808080", high: "#ff8000", highest: "#ff0000" };

const ratios = (...column) => column.map((_, row) => figures(column.map((seconds) => [seconds])).ratio(row, 0));

test("of two workers the slow one is as slow as it is, and the other is quick", () => {
  assert.deepEqual(ratios(2, 18), [2 / 18, 9]);
  assert.deepEqual(ratios(18, 2), [9, 2 / 18]);
});

test("a cell is compared with the lower median of the others", () => {
  assert.deepEqual(ratios(1, 2, 4), [1 / 2, 2, 4]);
  assert.deepEqual(ratios(1, 2, 4, 8), [1 / 4, 2 / 4, 4 / 2, 8 / 2]);
  assert.deepEqual(ratios(16, 1, 2, 4, 8), [16 / 2, 1 / 4, 2 / 4, 4 / 2, 8 / 2]);
  assert.deepEqual(ratios(2, 2, 2), [1, 1, 1]);
  const lowerMedian = (values) => values.sort((a, b) => a - b)[(values.length - 1) >> 1];
  for (let size = 2; size < 12; size++) {
    const column = Array.from({ length: size }, (_, i) => 1 + ((i * 5) % 7));
    assert.deepEqual(ratios(...column), column.map((seconds, row) => seconds / lowerMedian(column.filter((_, i) => i !== row))));
  }
});

test("who is alone in a phase is even, and who took time where others took none is slowest", () => {
  const found = figures([[5, 1, 0], [NaN, 0, 0]]);
  assert.ok(Number.isNaN(found.ratio(0, 0)));
  assert.deepEqual([found.shade(0, 0), found.shade(1, 0), found.shade(0, 1), found.shade(0, 2)], [1, NaN, Infinity, 1]);
  assert.equal(ratioText(found.ratio(0, 1)), "∞\u00a0×");
});

test("a round's lower median is of those that have the phase in it", () => {
  const found = figures([[2, 1, NaN], [18, 2, NaN], [2, NaN, NaN], [3, NaN, NaN]]);
  assert.deepEqual(found.medians, [2, 1, NaN]);
  assert.deepEqual(found.counts, [4, 2, 0]);
  assert.equal(found.ratio(1, 0), 18 / 2);
  assert.ok(Number.isNaN(found.ratio(2, 1)));
  assert.ok(Number.isNaN(found.ratio(0, 2)));
  assert.equal(found.empty, false);
  assert.equal(figures([[NaN], [NaN]]).empty, true);
});

test("workers stand by name as people count, or the slowest first and those without figures last", () => {
  const found = figures([[2], [NaN], [9], [1]], { workers: ["host-10", "host-2", "host-1", "host-3"] });
  assert.deepEqual(found.order("name"), [2, 1, 3, 0]);
  assert.deepEqual(found.order("slowest"), [2, 0, 3, 1]);
});

test("a ratio of one is even, beyond a quarter and four all look alike, and no figure has no colour", () => {
  const scale = scaleOf(COLOURS);
  assert.deepEqual([0, 0.01, 0.25, 1, 2, 4, 400, Infinity].map((ratio) => colourOf(ratio, scale)), [
    [0, 0, 255], [0, 0, 255], [0, 0, 255], [128, 128, 128], [255, 128, 0], [255, 0, 0], [255, 0, 0], [255, 0, 0],
  ]);
  assert.deepEqual(colourOf(2 ** 0.5, scale), [192, 128, 64]);
  assert.equal(colourOf(NaN, scale), null);
  assert.deepEqual([1, 8.24, 12.34, 400, NaN].map(ratioText), ["1.00\u00a0×", "8.24\u00a0×", "12.3\u00a0×", "400\u00a0×", "–"]);
});

test("a thousand workers by two hundred rounds fit, and each point is of the cell drawn there", () => {
  const many = { workers: Array(1000).fill("w"), rounds: Array(200).fill(0) };
  const large = sizes(1000, 200, 1500);
  assert.ok(large.cell[1] * 1000 <= 4000);
  assert.equal(large.gutter + large.cell[0] * 200, 1500);
  assert.deepEqual(cellAt(large, many, 1499.9, 2 * 999 + 1), { row: 999, column: 199 });
  assert.deepEqual(cellAt(large, many, large.gutter, 0), { row: 0, column: 0 });
  assert.equal(cellAt(large, many, large.gutter - 1, 0), null);
  assert.equal(cellAt(large, many, 700, 2000), null);
  const narrow = sizes(16, 200, 368);
  assert.ok(Math.abs(narrow.gutter + narrow.cell[0] * 200 - 368) < 1e-9);
});

test("few rounds take what room there is, up to a width at which cells are cells still", () => {
  assert.deepEqual(sizes(4, 10, 1520).cell[0], 140);
  assert.deepEqual(sizes(4, 2, 1520).cell[0], 480);
});

test("no part of the frame around a cell lies beyond the map", () => {
  const [large, canvas] = [{ gutter: 100, cell: [140, 22] }, [1500, 88]];
  for (const [row, column] of [[0, 0], [3, 9], [0, 9], [3, 0], [1, 4]]) {
    const [left, top, width, height] = frameOf({ row, column }, large, canvas);
    assert.ok(left >= 1 && top >= 1 && left + width <= 1499 && top + height <= 87, `${row}, ${column}`);
    assert.ok(width > 136 && height > 18);
  }
});

test("keys lead from cell to cell and not beyond the edge", () => {
  const all = { workers: Array(30), rounds: Array(5) };
  const from = { row: 2, column: 1 };
  assert.deepEqual(["ArrowUp", "ArrowRight", "PageDown", "PageUp", "Home", "End"].map((key) => moved(from, key, all)), [
    { row: 1, column: 1 }, { row: 2, column: 2 }, { row: 12, column: 1 }, { row: 0, column: 1 }, { row: 2, column: 0 }, { row: 2, column: 4 },
  ]);
  assert.equal(moved(from, "x", all), null);
  assert.equal(moved(from, "constructor", all), null);
});

test("a table shows the stretch that the cell is in", () => {
  assert.deepEqual([stretch(0, 25, 60), stretch(24, 25, 60), stretch(59, 25, 60), stretch(99, 25, 60), stretch(-3, 25, 60), stretch(0, 25, 3)], [[0, 25], [0, 25], [50, 60], [50, 60], [0, 25], [0, 3]]);
});
