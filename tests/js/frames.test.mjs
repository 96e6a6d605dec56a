// The decoder reads what the server writes, and refuses what is no whole frame.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { TYPE, decode, relative } from "../../dashboard/live/static/live/js/frames.js";
import { BASE, frameBytes, joinBytes, jsonBytes, message, rowsBytes, spans, steps } from "./frames_of.mjs";

test("columns come back as they were sent", () => {
  const row = { start: 5, duration: 70, id: 4_000_000_000, round: -1, lane: 3, attempt: 65535, phase: 2, flags: 9, thread: 1 };
  const [frame] = message(spans([row, row, row]));
  assert.equal(frame.count, 3);
  for (const [name, value] of Object.entries(row)) assert.deepEqual([...frame.columns[name]], [value, value, value], name);
});

test("cursor and base keep all their 64 bits", () => {
  const epoch = 9_007_199_254_740_993n;
  const last = 18_446_744_073_709_551_615n;
  const [frame] = message(spans([{ start: 1 }], { epoch, last, base: BASE + 1n }));
  assert.deepEqual([frame.epoch, frame.last, frame.base], [epoch, last, BASE + 1n]);
});

test("a time that is not yet known is NaN, others count from the origin in ns", () => {
  const [frame] = message(steps([{ begin: 2, end: null, kinds: Array(9).fill(NaN) }], { unit: 10_000 }));
  assert.deepEqual([...relative(frame, frame.columns.begin, BASE - 500n)], [20_500]);
  assert.ok(Number.isNaN(relative(frame, frame.columns.end, BASE)[0]));
});

test("nine kinds belong to each round", () => {
  const kinds = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const [frame] = message(steps([{ kinds }, { kinds: kinds.map((value) => value * 10) }]));
  assert.deepEqual([...frame.columns.kinds.slice(9)], [10, 20, 30, 40, 50, 60, 70, 80, 90]);
});

test("text survives, markup and all", () => {
  const payload = { lanes: [{ lane: 0, name: "</script><b>ü \u202e" }] };
  assert.deepEqual(message(jsonBytes(TYPE.META, payload))[0].json, payload);
});

test("a type of a later version is passed over, its neighbours are read", () => {
  const found = message(spans([{ start: 1 }]), frameBytes(700, [new Uint8Array(24)]), frameBytes(TYPE.RESYNC, []));
  assert.deepEqual(found.map((frame) => frame.type), [TYPE.SPAN, TYPE.RESYNC]);
});

test("what is no frame, or half of one, is refused", () => {
  const whole = new Uint8Array(joinBytes(spans([{ start: 1 }, { start: 2 }])));
  assert.throws(() => decode(whole.slice(0, whole.length - 8).buffer), RangeError);
  assert.throws(() => decode(whole.slice(0, 20).buffer), RangeError);
  const spoiled = whole.slice();
  spoiled[0] = 0;
  assert.throws(() => decode(spoiled.buffer), RangeError);
  const later = whole.slice();
  later[4] = 99;
  assert.throws(() => decode(later.buffer), RangeError);
  const greedy = rowsBytes(TYPE.SPAN, [{ start: 1 }]);
  greedy[12] = 200;
  assert.throws(() => decode(greedy.buffer), RangeError);
});

test("nothing is decoded from nothing", () => assert.deepEqual(decode(new ArrayBuffer(0)), []));

const GOLDEN = new URL("../contract/golden/", import.meta.url);
const NAMES = { OPEN_SNAPSHOT: "OPEN" };
const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const told = (column) => (value) => (column instanceof Float32Array ? Math.fround(WORDS[value] ?? value) : value);

for (const file of readdirSync(GOLDEN).filter((name) => name.endsWith(".bin"))) {
  test(`the golden bytes of ${file} say what is written beside them`, () => {
    const bytes = readFileSync(new URL(file, GOLDEN));
    const frames = decode(new Uint8Array(bytes).buffer);
    const expected = JSON.parse(readFileSync(new URL(file.replace(".bin", ".json"), GOLDEN), "utf8"));
    assert.equal(frames.length, expected.length);
    frames.forEach((frame, i) => {
      const { type, count, unit, json, columns = {}, ...header } = expected[i];
      assert.deepEqual([frame.type, frame.count, frame.unit], [TYPE[NAMES[type] ?? type], count, unit]);
      for (const name of ["epoch", "first", "last", "base"]) assert.equal(String(frame[name]), header[name], name);
      assert.deepEqual(frame.json, json);
      for (const [name, values] of Object.entries(columns)) {
        const column = frame.columns[name];
        assert.deepEqual([...column], values.flat().map(told(column)), name);
      }
    });
  });
}
