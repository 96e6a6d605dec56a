// Trends: unlike conditions are lines of their own, and whatever a run is called stays text.

import assert from "node:assert/strict";
import test from "node:test";
import { figure, looks, words } from "../../dashboard/runs/static/runs/trends/traces.js";

const COLOURS = { series: ["#111111", "#222222"], bad: "#ff0000" };
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function spot(group, day, values, more = {}) {
    return { name: `run ${day}`, group, at: `2026-03-0${day}T12:00:00+00:00`, href: `/runs/${day}/`, trainers: 2 * (group + 1), runs: 1, values, ...more };
}

const SECONDS = { key: "round_s", unit: "s", title: "Round time", by_trainers: false };
const drawn = {
    groups: ["8 × A40", "2 × T4"],
    measures: [SECONDS, { key: "memory_trainers", unit: "copies", title: "Memory", by_trainers: true }],
    spots: [spot(0, 1, [[9, 10, 12], [null, 2, null]]), spot(1, 2, [[1, 2, 3], [null, null, null]]), spot(0, 3, [[null, 11, null], [null, 3, null]])],
};

test("runs under other conditions are never joined by a line", () => {
    const { data } = figure(drawn, 0, COLOURS, plain);
    assert.deepEqual(data.map(({ name, y, mode }) => [name, y, mode]), [["8 × A40", [10, 11], "lines+markers"], ["2 × T4", [2], "lines+markers"]]);
    assert.deepEqual(data[0].customdata, ["/runs/1/", "/runs/3/"]);
});

test("a whisker spans what is known, and is nothing where nothing is", () => {
    const [{ error_y: whisker }] = figure(drawn, 0, COLOURS, plain).data;
    assert.deepEqual([whisker.array, whisker.arrayminus], [[2, 0], [1, 0]]);
});

test("what is not known is no point, and conditions without any are no line", () => {
    const { data, layout } = figure(drawn, 1, COLOURS, plain);
    assert.deepEqual(data.map(({ name, x, y, mode }) => [name, x, y, mode]), [["8 × A40", [2, 2], [2, 3], "markers"]]);
    assert.equal(layout.xaxis.title.text, "trainers");
});

test("a name with markup reaches plotly as text", () => {
    const named = { ...drawn, groups: ["<b>8</b>", "x"], spots: [spot(0, 1, [[9, 10, 12]], { name: '<a href="javascript:x">y</a>' })] };
    const [{ name, hovertext }] = figure(named, 0, COLOURS, plain).data;
    assert.equal(name, "&lt;b>8&lt;/b>");
    assert.ok(hovertext[0].startsWith('&lt;a href="javascript:x">y&lt;/a><br>10.0 s (9.00 s to 12.0 s)<br>&lt;b>8&lt;/b>'));
});

test("a run that is worse than usual has a ring, and says so", () => {
    const spots = [spot(0, 1, [[9, 10, 12]]), spot(0, 2, [[9, 15, 17]], { worse: true })];
    const [{ marker, hovertext }] = figure({ ...drawn, spots }, 0, COLOURS, plain).data;
    assert.deepEqual([marker.line.width, marker.line.color], [[0, 2.5], "#ff0000"]);
    assert.deepEqual(hovertext.map((text) => text.includes("worse than usual")), [false, true]);
});

test("short rounds have an axis in milliseconds, long ones in minutes", () => {
    const of = (value) => figure({ ...drawn, spots: [spot(0, 1, [[null, value, null]])] }, 0, COLOURS, plain);
    assert.deepEqual([of(0.2).data[0].y[0], of(0.2).layout.yaxis.ticksuffix], [200, " ms"]);
    assert.deepEqual([of(1200).data[0].y[0], of(1200).layout.yaxis.ticksuffix], [20, " min"]);
});

test("groups differ by colour or by symbol, beyond as many as there are colours too", () => {
    const seen = new Set([0, 1, 2, 3, 4, 5].map((index) => JSON.stringify(looks(index, COLOURS.series))));
    assert.equal(seen.size, 6);
});

test("what is counted has whole numbers on its axis, however few they are", () => {
    const counted = { ...drawn, measures: [drawn.measures[1], { key: "findings", unit: "", title: "Findings", by_trainers: false }] };
    const of = (at, values) => figure({ ...counted, spots: values.map((value) => spot(0, 1, [[null, 2, null], [null, value, null]], { trainers: value })) }, at, COLOURS, plain).layout;
    assert.deepEqual([of(0, [3, 5]).xaxis.dtick, of(0, [2, 512]).xaxis.dtick], [1, undefined]);
    assert.deepEqual([of(1, [0, 1]).yaxis.dtick, of(1, [0]).yaxis.dtick, of(1, [0, 40]).yaxis.dtick], [1, 1, undefined]);
});

test("a single moment stands amid days, a few seconds amid minutes, more as plotly would", () => {
    const of = (...moments) => figure({ ...drawn, spots: moments.map((at) => spot(0, 1, [[9, 10, 12]], { at })) }, 0, COLOURS, plain).layout.xaxis;
    assert.deepEqual(of("2026-03-01T12:00:00.5+00:00").range, ["2026-02-28T12:00:00.500Z", "2026-03-02T12:00:00.500Z"]);
    assert.deepEqual(of("2026-03-01T12:00:00+00:00", "2026-03-01T12:00:02+00:00").range, ["2026-03-01T11:59:00.000Z", "2026-03-01T12:01:02.000Z"]);
    assert.equal(of("2026-03-01T12:00:00+00:00", "2026-03-02T12:00:00+00:00").range, undefined);
});

test("little memory is drawn and said in MiB", () => {
    const of = (value) => figure({ ...drawn, measures: [{ key: "memory_gib", unit: "GiB", title: "Memory", by_trainers: false }], spots: [spot(0, 1, [[null, value, null]])] }, 0, COLOURS, plain);
    assert.deepEqual([of(0.25).data[0].y[0], of(0.25).layout.yaxis.ticksuffix, of(3).layout.yaxis.ticksuffix], [256, " MiB", " GiB"]);
    assert.deepEqual([words(0.152, "GiB"), words(0.02, "GiB"), words(3, "GiB"), words(0, "GiB")], ["156 MiB", "20.5 MiB", "3.0 GiB", "0 B"]);
});

test("figures in words", () => {
    assert.deepEqual([words(0.021, "s"), words(52.34, "s"), words(0.414, "%"), words(14.84, "copies"), words(3, ""), words(null, "s")],
        ["21 ms", "52.3 s", "41 %", "14.8 copies", "3", "–"]);
});
