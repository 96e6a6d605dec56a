// Every key does something that exists, and leaves typing alone.

import assert from "node:assert/strict";
import test from "node:test";
import { Actions } from "../../dashboard/live/static/live/js/actions.js";
import { KEYS, actionOf } from "../../dashboard/live/static/live/js/keys.js";
import { CHOICES } from "../../dashboard/live/static/live/js/toolbar.js";

const within = (...selectors) => ({ matches: (list) => selectors.some((one) => list.includes(one)), closest: () => null });
const press = (key, target = within(), extra = {}) => actionOf({ key, target, ...extra });

test("each key has an action of the page, and no key has two", () => {
  const keys = KEYS.flatMap(([names]) => names);
  assert.equal(new Set(keys).size, keys.length);
  for (const [, [name, argument]] of KEYS) {
    assert.equal(typeof Actions.prototype[name], "function", name);
    if (name === "cycle") assert.ok(CHOICES[argument], argument);
  }
});

test("the keys that were promised are there", () => {
  const promised = ["w", "s", "a", "d", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "[", "]", "f", "0", "l", " ", "/", "g", "o", "p", "m", "t", "?", "Escape"];
  for (const key of promised) assert.ok(press(key), key);
  assert.deepEqual(press("W"), press("w"));
});

test("typing in a field, a shortcut of the browser and a pressed button keep their keys", () => {
  assert.equal(press("s", within("input")), null);
  assert.deepEqual(press("Escape", within("input")), ["escape"]);
  assert.equal(press("s", within(), { ctrlKey: true }), null);
  assert.equal(press(" ", within("button")), null);
  assert.equal(press("q"), null);
});
