// What toasts say of incidents that open, and how often they ask.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fresh, line, pause } from "../../dashboard/static/rw/toasts.js";

const one = (key, more) => ({ key, title: `slow ${key}`, page: false, url: `/alerts/${key}/`, ...more });

test("what was told before is no news, and what is remembered is bounded", () => {
  const known = [];
  assert.deepEqual(fresh([one("a"), one("b")], known).map(({ key }) => key), ["a", "b"]);
  assert.deepEqual(fresh([one("b"), one("c")], known).map(({ key }) => key), ["c"]);
  for (let at = 0; at < 1000; at += 1) fresh([one(`n${at}`)], known);
  assert.equal(known.length, 200);
  assert.deepEqual(fresh([one("n999")], known), []);
});

test("however many open, one line tells of the newest that wakes somebody, and how many there are besides", () => {
  assert.deepEqual(line([one("a")], "/alerts/").moreText, "");
  const told = line([one("a"), one("b", { page: true }), one("c")], "/alerts/");
  assert.deepEqual([told.title, told.moreText, told.inbox], ["slow b", "and 2 more", "/alerts/"]);
  assert.equal(line([one("a"), one("c")], "/").title, "slow c");
});

test("a server that does not answer is asked less and less often, but at least each minute", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 9, 2000].map((failures) => pause(failures)), [5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
});

test("a page that nobody sees asks six times less often", () => {
  assert.deepEqual([0, 1, 9].map((failures) => pause(failures, true)), [30_000, 60_000, 60_000]);
});
