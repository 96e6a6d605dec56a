// Everything that is known of one phase, in words: what the hover card and the panel say.

import { age, bytes, clockTime, duration, isolated, number, plural, share } from "./format.js";
import { FLAG } from "./frames.js";
import { wordedEvent } from "./eventwords.js";
import { wordsOf } from "./words.js";

/** The phase {attempt, id} as it is in the store now, or null: lane, name, kind, round, start, end, open, flags ... */
export function locate(store, selection) {
  if (!selection) return null;
  const own = store.lanes.get(selection.lane ?? store.attempts.get(selection.attempt)?.lane);
  const candidates = own ? [own, ...store.lanes.values()] : store.lanes.values();
  for (const lane of candidates) {
    const open = lane.open.find((one) => one.id === selection.id && one.attempt === selection.attempt);
    if (open) return described(store, lane, open, open);
    const index = lane.spans.find(selection.attempt, selection.id);
    const event = index < 0 && lane.events.find((one) => one.id === selection.id && one.attempt === selection.attempt);
    if (event) return ofEvent(store, lane, event);
    if (index >= 0) return described(store, lane, at(lane.spans, index), null, index);
  }
  return null;
}

function at(spans, i) {
  const { start, end, id, round, attempt, phase, flags, thread } = spans;
  return { start: start[i], end: end[i], id: id[i], round: round[i], attempt: attempt[i], phase: phase[i], flags: flags[i], thread: thread[i] };
}

/** The same for a bar that the strip or a hit-test gave. */
export function ofBar(store, lane, bar) {
  return described(store, lane, bar.open ?? at(lane.spans, bar.index), bar.open, bar.index);
}

/** The same for an event: an instant, with `event` true and its Unix time (BigInt) as `unix`. */
export function ofEvent(store, lane, event) {
  return { ...described(store, lane, { ...event, end: event.start, flags: 0 }, null), event: true, unix: store.toUnix(event.start) };
}

function described(store, lane, span, open, index = -1) {
  const { name, kind } = store.phase(span.phase);
  const { attempt, id, start, end, round, flags, thread } = span;
  const facts = { lane, attempt, id, start, end, round, flags, thread, name, kind, open, index };
  facts.words = wordsOf(store);
  facts.error = store.attempts.get(attempt)?.error ?? NaN;
  facts.finding = store.marks.of(attempt, id);
  facts.comparison = store.marks.comparison(attempt, id, store.lanes);
  return facts;
}

export function title({ name, lane, round, words }) {
  return [isolated(name), isolated(lane.info.name), round >= 0 ? `${words.round} ${round}` : `outside of any ${words.round}`].join(" · ");
}

/** How a phase stands: "open", "no word for 12 s", "failed", "aborted", or "". */
export function standing({ open, flags }) {
  if (flags & FLAG.ABORTED) return "aborted: its process is gone";
  if (flags & FLAG.ERROR) return "failed";
  if (!open) return "";
  return open.stale ? "open, but nothing heard for more than 10 s" : "still open";
}

/** Who waited for whom in a collective, and how long the rest of it took. */
function metText({ waited, moved, least, longest }) {
  const took = `transferred ${duration(moved)}`;
  if (waited > 0) return `waited ${duration(waited)} for ${isolated(least.info.name)}, ${took}`;
  return longest > 0 ? `waited least: the others up to ${duration(longest)} for it; ${took}` : `nobody waited; ${took}`;
}

/** Lines of text on a phase, most telling first. */
export function lines(store, facts) {
  const { start, end, comparison, open } = facts;
  const error = Number.isFinite(facts.error) ? `±\u00a0${duration(facts.error)}` : "±\u00a0unknown";
  if (facts.event) return [`${clockTime(store.toUnix(start), 1e6)} ${error}`, ...(facts.thread ? [`thread ${facts.thread}`] : [])];
  const found = [];
  const took = [duration(end - start)];
  if (comparison?.reference_s) took.push(`${comparison.against === "peers" ? "peers" : "usually"} ${duration(comparison.reference_s * 1e9)}`);
  if (comparison?.ratio) took.push(`${comparison.ratio.toFixed(1)} ×`);
  found.push(took.join(" · "));
  const finish = open ? "…" : clockTime(store.toUnix(end), 1e6);
  found.push(`${clockTime(store.toUnix(start), 1e6)} → ${finish} ${error}`);
  if (standing(facts)) found.push(standing(facts));
  if (open && open.progress >= 0) found.push(`${share(open.progress)} done`);
  const met = open ? null : store.collectives.of(store.lanes, facts.lane, facts.index);
  if (met) found.splice(1, 0, metText(met));
  if (facts.thread) found.push(`thread ${facts.thread}`);
  return found;
}

/** How long ago a phase ended, while its run goes on; "" otherwise. */
export function endedAgo(store, facts, now) {
  return facts && !facts.open && !store.ended && now >= facts.end ? `${facts.event ? "" : "ended "}${age(now - facts.end)} ago` : "";
}

/** Lines of text on what only the server knows of a phase; `more` is its answer or null. */
export function moreLines(more, words = { round: "round", worker: "worker" }) {
  if (more?.time_ns) return wordedEvent(more, words).lines;
  const found = [];
  const { peers, parent_name: parent, attempt_number: attempt } = more ?? {};
  if (peers) {
    const seconds = (value) => duration(value * 1e9);
    // Of a phase that a round has many of, all are compared, and one alone would stand beside figures that are not its own.
    const all = peers.own_s > more.seconds * 1.001 ? `${seconds(peers.own_s)} in the whole ${words.round} · ` : "";
    found.push(`${all}${plural(peers.count, "peer")}: ${seconds(peers.fastest_s)} to ${seconds(peers.slowest_s)}, lower median ${seconds(peers.median_s)}${peers.ratio ? ` · ${peers.ratio.toFixed(1)} ×` : ""}`);
  }
  if (parent) found.push(`within ${isolated(parent)}`);
  if (attempt) found.push(`attempt ${attempt + 1} of its ${words.worker}`);
  return found;
}

/** Attributes of a phase, or what of an event's is not in its lines, as [name, text]; values from outside stay text. */
export function attributes(more) {
  return Object.entries((more?.time_ns ? wordedEvent(more, { round: "" }).rest : more?.attrs) ?? {}).map(([name, value]) => [name, attribute(name, value)]);
}

function attribute(name, value) {
  if (typeof value === "string") return value;
  if (typeof value !== "number") return JSON.stringify(value);
  if (name === "nbytes" || name.endsWith("_bytes")) return bytes(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : number(value);
}

// How often (ms) to ask again of a phase that is open, or of whose time readings may still come.
export const AGAIN_MS = 5000;

/** Fetches what only the server knows of a phase or an event: once, where nothing more of it is to come. */
export class Details {
  constructor(url, eventUrl) {
    this.url = url;
    this.eventUrl = eventUrl;
    this.known = new Map();
  }

  async of({ attempt, id, open, event, unix }) {
    const key = `${attempt}.${id}.${open ? "open" : "ended"}`;
    if (!this.known.has(key)) {
      if (this.known.size > 500) this.known.clear();
      const url = event ? `${this.eventUrl}?attempt=${attempt}&number=${id}&near_ns=${unix}` : `${this.url}?attempt=${attempt}&start=${id}`;
      const asked = fetch(url, { headers: { Accept: "application/json" } })
        .then((answer) => (answer.ok ? answer.json() : null))
        .catch(() => null);
      this.known.set(key, asked);
      const answer = await asked;
      if (!answer || open || !(event || answer.readings?.settled)) this.known.delete(key);
      return answer;
    }
    return this.known.get(key);
  }
}
