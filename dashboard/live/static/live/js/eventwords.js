// What an event says in words: objects that stay though they should be gone, full garbage collections, thread stacks,
// live tensors.

import { census } from "./census.js";
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

function collection({ seconds, collected, memory_before_bytes: before, memory_after_bytes: after, allocated_before_bytes: had, allocated_after_bytes: has, left_out: left, ...rest }) {
  const freed = before - after;
  const memory = Number.isFinite(freed) && (Math.abs(freed) < 1 << 20 ? `memory stayed at ${bytes(after)}` : freed > 0 ? `freed ${bytes(freed)}: memory fell from ${bytes(before)} to ${bytes(after)}` : `memory rose from ${bytes(before)} to ${bytes(after)}`);
  const lines = [
    `a full garbage collection${seconds >= 0 && Number.isFinite(seconds) ? ` paused the process for ${duration(seconds * 1e9)}` : ""}`,
    memory,
    had - has >= 1 << 20 && !(freed >= (had - has) / 2) && `freed ${bytes(had - has)} that the allocator keeps for what comes`,
    Number.isFinite(collected) && `${plural(collected, "object")} in cycles collected`,
    left > 0 && `${plural(left, "collection")} before it not told`,
  ];
  return { lines, rest };
}

/** Where a thread is, in one line: "main · encode (job/train.py:16)". */
export function whereText({ name, frames }) {
  if (!frames.length) return `${told(name)} · no Python code`;
  const [file, line, call] = frames[0];
  return `${told(name)} · ${told(call)} (${told(file)}:${line || "?"})`;
}

function stacks({ threads, left_out: left, only_main: only, failed, start, ...rest }) {
  const sound = Array.isArray(threads) ? threads.filter((one) => Array.isArray(one?.frames) && one.frames.every(Array.isArray)) : [];
  const others = sound.length - 1 + (left > 0 ? left : 0);
  const lines = [
    failed && !sound.length && `its thread stacks could not be taken: ${told(failed)}`,
    sound.length > 0 && `its thread stacks were taken: ${whereText(sound[0])}`,
    others > 0 && `and ${plural(others, "other thread")}`,
    only && "its other threads could not be asked",
  ];
  return { lines, rest };
}

const WORDED = { retained, gc: collection, stacks, census };

/** What an event says: `lines` of text, and the `rest` of its attributes. `words`: what rounds are called. */
export function wordedEvent({ name, attrs }, words) {
  const worded = Object.hasOwn(WORDED, name) ? WORDED[name](attrs ?? {}, words) : { lines: [], rest: attrs ?? {} };
  return { ...worded, lines: worded.lines.filter(Boolean) };
}
