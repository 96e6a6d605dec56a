// Which runs speak of steps and ranks: the page decides as the server does (tests/contract/test_words.py).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Collectives } from "../../dashboard/live/static/live/js/collectives.js";
import { wordsOf } from "../../dashboard/live/static/live/js/words.js";

const cases = JSON.parse(readFileSync(new URL("../contract/golden/words.json", import.meta.url)));

test("the page decides by roles and phases", () => {
  assert.ok(cases.length >= 10);
  for (const { roles, phases, round, worker } of cases) {
    const collectives = new Collectives();
    const described = phases.map(([name, kind], phase) => ({ phase, name, kind }));
    for (const each of described) collectives.describe(each);
    const lanes = new Map(roles.map((role, lane) => [lane, { info: { role } }]));
    const words = wordsOf({ lanes, phases: described, collectives, structure: 1 });
    assert.deepEqual([words.round, words.worker], [round, worker], JSON.stringify({ roles, phases }));
  }
});
