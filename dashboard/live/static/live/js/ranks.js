// The round in question as a table of ranks by phases, what of its collectives was waiting apart, and who came last.

import { el, fill, swatch } from "./dom.js";
import { duration, isolated, legible, plural, share } from "./format.js";
import { capital } from "./words.js";

const AGAIN_MS = 2000;
const APART_MS = 1000;
const MOST_NAMED = 8;
const MOST_ROWS = 500;

const seconds = (value) => (value === null ? "–" : duration(value * 1e9));

/** Who came last to a cohort's collectives, in one sentence; "" where nothing is to be said. */
export function verdictText({ ranks, parts }, verdict, words) {
  const name = (at) => isolated(ranks[at].name);
  if (verdict.culprit === null) {
    const some = parts.some((part) => part.collective) && verdict.ranks.length > 1;
    return some ? `Who waited for whom is not known: a part of a collective is missing among ${verdict.ranks.length.toLocaleString("en")} ${words.worker}s.` : "";
  }
  const least = `Waited least: ${name(verdict.culprit)}`;
  if (!verdict.blamed) return `${least}, by ${seconds(verdict.waited_s)}; ${verdict.abstained}.`;
  const cost = `${least}; ${name(verdict.victim)} waited ${seconds(verdict.waited_s)} longer, ${share(verdict.share)} of the ${words.round}.`;
  return verdict.cause ? `${cost} Its ${isolated(verdict.cause)} took ${seconds(verdict.excess_s)} more than the others’.` : `${cost} No cause is named: ${verdict.abstained}.`;
}

/** Columns in order: {name, kind, of(rank), waits}; a collective is what it waited and what it transferred. */
export function columnsOf(parts) {
  return parts.flatMap(({ name, kind, collective }, i) => {
    if (!collective) return [{ name, kind, part: name, of: (rank) => rank.seconds[i] }];
    const moved = ({ seconds: spent, waited }) => (spent[i] === null || waited[i] === null ? spent[i] : spent[i] - waited[i]);
    return [
      { name: `${name}, waited`, kind: "wait", part: name, waits: true, of: (rank) => rank.waited[i] },
      { name: `${name}, transferred`, kind, part: name, of: moved },
    ];
  });
}

const waitedBy = (rank) => rank.waited.reduce((sum, value) => sum + (value ?? 0), 0);

/**
 * The ranks that are shown, by `lanes` (Set of their numbers, null for all); slowest first is who waited least. `all`
 * counts those beyond the limit too.
 */
export function rowsOf({ ranks }, lanes, sort, most = MOST_ROWS) {
  const shown = ranks.map((rank, at) => ({ rank, at })).filter(({ rank }) => !lanes || lanes.has(rank.lane));
  if (sort === "slowest") shown.sort((a, b) => waitedBy(a.rank) - waitedBy(b.rank));
  return { all: shown.length, rows: shown.slice(0, most) };
}

/** What of a step its table leaves out, in words; "" for nothing. */
export function leftOut({ all, rows }, parts, words) {
  const texts = [
    all > rows.length && `${rows.length.toLocaleString("en")} of ${all.toLocaleString("en")} ${words.worker}s: filter for the others, or sort by who was slowest`,
    parts > 0 && `${plural(parts, "shorter phase")} left out`,
  ];
  return texts.filter(Boolean).join(" · ");
}

export class Ranks {
  /** `on`: step(by) to another round, pick(lane) for a rank, changed() when an answer has come. */
  constructor(element, url, on) {
    Object.assign(this, { element, url, on, answer: null, asked: "", askedAt: -Infinity, stamp: "" });
  }

  /** `layout`: the lanes that are shown, `round` the one in question or null. */
  draw({ round, layout, sort, words, filter }) {
    this.#ask(round);
    const lanes = filter ? new Set(layout.rows.flatMap((row) => (row.kind === "lane" ? row.lane.index : []))) : null;
    const stamp = JSON.stringify([this.version, round?.index, sort, words, lanes && [...lanes]]);
    if (stamp === this.stamp || this.element.matches(":active")) return;
    this.stamp = stamp;
    const held = this.element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    fill(this.element, this.#head(round, words), this.answer && this.#table(lanes, sort, words));
    if (held) this.element.querySelector(`[aria-label="${CSS.escape(held)}"]`)?.focus();
  }

  #head(round, words) {
    const { answer } = this;
    if (!round) return el("p", { class: "muted" }, `What each ${words.worker} did stands here as soon as a ${words.round} has begun.`);
    const turn = (label, text, by) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, click: () => this.on.step(by) }, text);
    const told = answer?.verdicts.map((verdict) => ({ verdict, text: verdictText(answer, verdict, words) })).filter(({ text }) => text) ?? [];
    told.sort((a, b) => (b.verdict.share ?? 0) - (a.verdict.share ?? 0));
    const title = answer ? `${capital(words.round)} ${answer.round} by ${words.worker}${answer.seconds === null ? ", still open" : ` · ${duration(answer.seconds * 1e9)}`}` : `${capital(words.round)} ${round.index}: loading`;
    return el("header", {},
      el("div", { class: "ranks-title" }, el("h2", {}, title), turn(`Earlier ${words.round}`, "‹", -1), turn(`Later ${words.round}`, "›", 1)),
      told.slice(0, MOST_NAMED).map(({ verdict, text }) => el("p", { class: "verdict", "data-tone": verdict.blamed ? "warn" : null }, text)));
  }

  #table(lanes, sort, words) {
    const columns = columnsOf(this.answer.parts);
    const found = rowsOf(this.answer, lanes, sort);
    const left = leftOut(found, this.answer.left_out, words);
    const heads = columns.map(({ name, kind }) => el("th", { scope: "col" }, swatch(kind), legible(name)));
    return el("table", { class: "ranks-table" },
      left && el("caption", {}, left),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, words.worker), heads)),
      el("tbody", {}, found.rows.map(({ rank, at }) => this.#row(rank, at, columns))));
  }

  #row(rank, at, columns) {
    const verdict = this.answer.verdicts.find(({ culprit }) => culprit === at);
    const tag = verdict && el("span", { class: "tag", "data-tone": verdict.blamed ? "warn" : null }, "waited least");
    const pick = el("button", { type: "button", class: "rank-name", click: () => this.on.pick(rank.lane) }, legible(rank.name));
    const tone = (column) => (verdict?.cause && column.part === verdict.cause && !column.waits ? "warn" : null);
    return el("tr", {}, el("th", { scope: "row" }, pick, tag), columns.map((column) => el("td", { "data-tone": tone(column) }, seconds(column.of(rank)))));
  }

  /** Asks for the round in question: once where it is closed, again while it is open; one answer at a time. */
  async #ask(round) {
    if (!round || this.busy) return;
    const key = `${round.index}.${round.generation}.${round.closed}`;
    const passed = performance.now() - this.askedAt;
    if (passed < APART_MS || (key === this.asked && (round.closed || passed < AGAIN_MS))) return;
    Object.assign(this, { busy: true, askedAt: performance.now() });
    try {
      const answer = await fetch(`${this.url}?round=${round.index}`, { headers: { Accept: "application/json" } });
      if (answer.ok) Object.assign(this, { answer: await answer.json(), asked: key, version: performance.now() });
    } catch {
      // The connection says so when the server is away; what was known stays.
    }
    this.busy = false;
    this.on.changed();
  }
}
