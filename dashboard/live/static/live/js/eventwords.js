// What an event says in words: objects that stay though they should be gone, and full garbage collections.

import { bytes, duration, isolated, plural } from "./format.js";

/** A value from outside as text that turns nothing around it. */
const told = (value) => isolated(typeof value === "string" ? value : JSON.stringify(value));

function retained({ label, rounds, type, held_by: by, path, container, key, search_cut: cut, ...rest }, { round }) {
  const what = [label && `“${told(label)}”`, type && told(type)].filter(Boolean).join(", ");
  const held = { "a cycle": "held by a reference cycle: only the cyclic collector frees it", "a name": "held by a name", "not found": "what holds it was not found" }[by] ?? (by && `held by ${told(by)}`);
  const lines = [
    `${what || "an object"} is still alive ${Number.isFinite(rounds) ? `${plural(rounds, round)} later` : "later"}`,
    held,
    path && `path: ${told(path)}`,
    container && `in ${told(container)}${key ? `, at ${told(key)}` : ""}`,
    cut && "there was more to search than was searched",
  ];
  return { lines, rest };
}

function collection({ seconds, collected, memory_before_bytes: before, memory_after_bytes: after, left_out: left, ...rest }) {
  const freed = before - after;
  const memory = Number.isFinite(freed) && (Math.abs(freed) < 1 << 20 ? `memory stayed at ${bytes(after)}` : freed > 0 ? `freed ${bytes(freed)}: memory fell from ${bytes(before)} to ${bytes(after)}` : `memory rose from ${bytes(before)} to ${bytes(after)}`);
  const lines = [
    `a full garbage collection${Number.isFinite(seconds) ? ` paused the process for ${duration(seconds * 1e9)}` : ""}`,
    memory,
    Number.isFinite(collected) && `${plural(collected, "object")} in cycles collected`,
    left > 0 && `${plural(left, "collection")} before it not told`,
  ];
  return { lines, rest };
}

const WORDED = { retained, gc: collection };

/** What an event says: `lines` of text, and the `rest` of its attributes. `words`: what rounds are called. */
export function wordedEvent({ name, attrs }, words) {
  const worded = Object.hasOwn(WORDED, name) ? WORDED[name](attrs ?? {}, words) : { lines: [], rest: attrs ?? {} };
  return { ...worded, lines: worded.lines.filter(Boolean) };
}
