// A link that was copied shows another person the same bar, or the same moment, however the run goes on.

import assert from "node:assert/strict";
import test from "node:test";
import { Page } from "../../dashboard/live/static/live/js/page.js";
import { parse } from "../../dashboard/live/static/live/js/urlstate.js";
import { message, spans, steps } from "./frames_of.mjs";

const unknown = new Array(9).fill(NaN);

function opened(search = "") {
  globalThis.location = { search, origin: "https://here.example", pathname: "/runs/1/" };
  const page = new Page({}, { phase: "phase" });
  page.store.apply(message(
    spans([{ start: 2e6, duration: 4e6, id: 7, lane: 0, attempt: 0, round: 1 }]),
    steps([{ begin: 0, end: 1e9, index: 0, kinds: unknown, closed: true }, { begin: 1e9, end: NaN, index: 1, kinds: unknown }]),
  ));
  page.settle();
  page.view.width = 1000;
  Object.assign(page.view, { from: 0, to: 10e9 });
  return page;
}

function said(link) {
  assert.ok(link.startsWith("https://here.example/runs/1/?"), link);
  return parse(link.split("?")[1]);
}

test("the link of a bar holds the bar, its round and room at both sides, though the page follows", () => {
  const page = opened();
  page.ui.selection = { attempt: 0, id: 7 };
  const state = said(page.link());
  assert.deepEqual([state.selection, state.round, state.extent], [{ attempt: 0, id: 7 }, 1, null]);
  const unix = (time) => page.store.toUnix(time);
  assert.deepEqual(state.window, { from: unix(0), to: unix(8e9) });
  assert.equal(page.view.follow, true, "copying pauses nothing");
});

test("without a selection it holds the window in sight and the round in question", () => {
  const page = opened("?sort=slowest");
  const state = said(page.link());
  assert.deepEqual([state.selection, state.sort], [null, "slowest"]);
  assert.equal(state.round, page.round().index);
  assert.deepEqual(state.window, { from: page.store.toUnix(0), to: page.store.toUnix(10e9) });
});
