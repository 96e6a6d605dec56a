// What a census of live tensors says: in lines for the hover card, and each sort of tensor in a table for the panel.

import { el } from "./dom.js";
import { bytes, duration, isolated, plural } from "./format.js";

const count = (value) => (Number.isFinite(value) && value > 0 ? value : 0);
const plain = (value) => Boolean(value) && typeof value === "object" && !Array.isArray(value);

const sort = (group) => plain(group) && [group.dtype, group.device].every((name) => typeof name === "string") && [group.tensors, group.bytes].every(Number.isFinite);

/** The sorts of tensors that a census tells, the largest first; what is none is left out. An event holds some 300. */
export function groupsOf(attrs) {
  return Array.isArray(attrs?.groups) ? attrs.groups.filter(sort) : [];
}

/** "float32 on cuda:0". */
function sortText({ dtype, device }) {
  return `${isolated(dtype)} on ${isolated(device)}`;
}

/** "1.0 KiB to 16 KiB". */
function sizeText({ from_bytes: from, below_bytes: below }) {
  if (!count(below)) return `${bytes(count(from))} or more`;
  return count(from) ? `${bytes(from)} to ${bytes(below)}` : `below ${bytes(below)}`;
}

function ageText({ old_bytes: old, old_rounds: age, new_bytes: fresh, rounds_since: since }, round) {
  if (!Number.isFinite(since)) return `it is the first: how many ${round}s they stay is known from the next on`;
  const before = since ? `${plural(since, round)} before` : `in the same ${round}`;
  const long = count(age) ? `for ${plural(age, round)} or more` : "old";
  return `${bytes(count(old))} of it ${long}, ${bytes(count(fresh))} new since the last census, ${before}`;
}

/** What an event "census" says: `lines`, and the `rest` of its attributes. */
export function census(attrs, { round }) {
  const { groups, others, tensors, storages, bytes: held, new_bytes, old_bytes, old_rounds, oldest_rounds, rounds_since, seconds, objects, cut_of_objects: all, unread, ageless, frozen, left_out: left, allocated, ...rest } = attrs;
  const [most] = groupsOf(attrs);
  const lines = [
    `a census of live tensors${Number.isFinite(seconds) ? ` paused the process for ${duration(seconds * 1e9)}` : ""}`,
    Number.isFinite(held) && `${plural(count(tensors), "tensor")} on ${plural(count(storages), "block")} of memory hold ${bytes(held)}`,
    Number.isFinite(held) && ageText(attrs, round),
    most && `most: ${plural(count(most.tensors), "tensor")} of ${sortText(most)}, ${sizeText(most)} each, hold ${bytes(count(most.bytes))}`,
    ...(plain(allocated) ? Object.entries(allocated) : []).map(([device, given]) => `torch’s allocator has given out ${bytes(count(given))} on ${isolated(device)}`),
    count(all) && `it stopped after ${plural(count(objects), "object")} of ${all.toLocaleString("en")}: no time for the others`,
    count(frozen) && `${plural(frozen, "frozen object")} not looked at`,
    count(unread) && `${plural(unread, "tensor")} without plain memory not counted`,
    count(ageless) && `no age is kept of ${plural(ageless, "block")} of memory`,
    count(left) && `${plural(left, "census", "censuses")} before it not taken, too soon after the last`,
  ];
  return { lines: lines.filter(Boolean), rest };
}

function row(head, size, group, round) {
  const oldest = count(group.oldest_rounds);
  return el("tr", {},
    el("th", { scope: "row" }, head, el("small", {}, size)),
    el("td", {}, bytes(count(group.bytes)), count(group.new_bytes) > 0 && el("small", {}, `${bytes(group.new_bytes)} new`)),
    el("td", {}, `${count(group.tensors).toLocaleString("en")} ×`),
    el("td", {}, oldest ? plural(oldest, round) : "–"));
}

/** All that a census counted, for the panel of an event; null for what is none. `words`: what rounds are called. */
export function censusTable({ name, event }, more, { round }) {
  const groups = event && name === "census" ? groupsOf(more?.attrs) : [];
  if (!groups.length) return null;
  // Where nothing was counted before, all of it is new, which says nothing.
  const told = (group) => (Number.isFinite(more.attrs.rounds_since) ? group : { ...group, new_bytes: 0 });
  const { others } = more.attrs;
  return el("table", { class: "parts census" },
    el("thead", {}, el("tr", {}, ["tensors", "hold", "count", "oldest"].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, groups.map((group) => row(sortText(group), sizeText(group), told(group), round)),
      plain(others) && row("others", plural(count(others.groups), "sort"), told(others), round)));
}
