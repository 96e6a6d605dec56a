// The panel on the right: the selected phase or area, where the selected round went, and what was found in it.

import { censusTable } from "./census.js";
import { AGAIN_MS, attributes, endedAgo, lines, moreLines, title } from "./detail.js";
import { el, fill, say, swatch } from "./dom.js";
import { failureOf } from "./failure.js";
import { findingCard, grouped } from "./findingcard.js";
import { FindingStacks } from "./findingstacks.js";
import { duration, isolated, plural, share } from "./format.js";
import { KINDS } from "./frames.js";
import { kindSeconds } from "./kinds.js";
import { bar, partRow, totalRow } from "./parts.js";
import { readingRows } from "./readings.js";
import { subjectOf } from "./stacks.js";
import { wordsOf } from "./words.js";

/** Parts of a round as [{name, kind, seconds, share}]: kinds by size, then what no phase explains; they sum to the wall time. */
export function partsOf(seconds, wall) {
  const parts = KINDS.map((kind, i) => ({ name: kind, kind, seconds: seconds[i] })).filter((part) => part.seconds > 0);
  parts.sort((a, b) => b.seconds - a.seconds);
  const rest = wall - parts.reduce((sum, part) => sum + part.seconds, 0);
  if (rest > wall * 0.0005) parts.push({ name: "not recorded", kind: null, seconds: rest });
  return parts.map((part) => ({ ...part, share: part.seconds / wall }));
}

/** A generation that a restart cut short has no end to be measured by. */
export function olderText({ generation, begin, end }) {
  const which = `generation ${generation + 1} of it`;
  return Number.isFinite(end) ? `${which} took ${duration(end - begin)} and was replayed` : `${which} did not end`;
}

function standing({ coverage, closed }, final) {
  if (Number.isFinite(coverage)) return [`${share(coverage)} explained`];
  return closed ? (final ? [] : ["being judged"]) : ["still open"];
}

function roundSection({ store, round, last, words, now, byWorker }, { step, ranks, theme, analysis }) {
  const wall = ((Number.isFinite(round.end) ? round.end : now) - round.begin) / 1e9;
  const { seconds, trainers, final } = kindSeconds(store, round);
  const parts = partsOf(seconds, wall);
  const facts = [duration(wall * 1e9)];
  // Once it is analysed, the bars below say whose mean they are.
  if (!analysis.ready) facts.push(`mean of ${plural(trainers, words.trainer)}`, ...standing(round, final));
  for (const older of store.rounds.olderOf(round.index)) facts.push(olderText(older));
  const waiting = Number.isFinite(round.waiting) && el("p", { class: "waiting" }, "GPU waiting ", el("b", {}, duration(round.waiting * wall * 1e9)), ` · ${share(round.waiting)} of the ${words.round}`);
  const turn = (label, text, by) => el("button", { type: "button", class: "icon", "aria-label": label, title: label, click: () => step(by) }, text);
  return el("section", { class: "round-section" },
    el("header", {}, el("h2", {}, `Where ${words.round} ${round.index} went`), turn(`Earlier ${words.round}`, "‹", -1), turn(`Later ${words.round}`, "›", 1)),
    el("p", { class: "muted" }, facts.join(" · ")),
    !analysis.ready && [bar(parts, theme), el("table", { class: "parts" }, el("tbody", {}, parts.map(partRow), totalRow("wall time", wall))), waiting],
    lastIn(last, wall, { words, byWorker }, ranks),
    analysis.element);
}

/** Who came last to the round's collectives, and the way to what each rank did, which `byWorker` says is shown. */
function lastIn(last, wall, { words, byWorker }, show) {
  const name = `By ${words.worker}`;
  const open = el("button", { type: "button", class: "button", title: "E", "aria-label": name, "aria-pressed": String(byWorker), click: show }, name);
  if (!last) return el("p", {}, open);
  const most = last.waited > 0 ? `; ${isolated(last.most.info.name)} waited ${duration(last.waited)} longer, ${share(last.waited / 1e9 / wall)} of the ${words.round}` : "";
  return el("p", { class: "last-in" }, "Waited least: ", el("b", {}, isolated(last.least.info.name)), most, " ", open);
}

const MOST_CARDS = 20;

/** The card on why the run failed. */
function failureCard({ state, reason, worker, others }, words) {
  const more = others > 0 && el("p", { class: "muted" }, `and ${plural(others, `more ${words.worker}`)} ${state}`);
  return el("section", { class: "card failure" }, el("h3", {}, `${isolated(worker)} ${state}`), reason && el("p", {}, reason), more);
}

/** What was sampled while the phase ran; `more` is the server's answer or null. */
function readingList(more) {
  const rows = readingRows(more?.readings);
  if (more && !rows.length) return el("p", {}, "Nothing was sampled of its process, machine or devices while it ran.");
  return rows.length > 0 && el("dl", { class: "readings", "aria-label": "While it ran" }, rows.map(([label, text, tone]) => [el("dt", {}, label), el("dd", { "data-tone": tone }, text)]));
}

function phaseSection(store, facts, more, age, stacks, { close, link }) {
  const attrs = attributes(more);
  return el("section", { class: "card phase" },
    el("header", {}, el("h3", {}, swatch(facts.kind), title(facts)), el("button", { type: "button", class: "icon", "aria-label": "Close", click: close }, "×")),
    [...lines(store, facts), ...moreLines(more, facts.words)].map((line) => el("p", {}, line)),
    age,
    facts.event ? censusTable(facts, more, facts.words) : readingList(more),
    attrs.length > 0 && el("dl", {}, attrs.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
    el("p", {}, el("button", { type: "button", class: "button", title: "C", "aria-label": "Copy a link to it", click: link }, "Copy link")),
    stacks);
}

/** Whether a person is marking text in an element, to copy it: it must stay as it is until then. */
function marking(element) {
  const marked = getSelection();
  return Boolean(marked && !marked.isCollapsed && element.contains(marked.anchorNode));
}

function areaSection(area, close) {
  const rows = area.phases.map((one) => el("tr", {}, el("th", { scope: "row" }, swatch(one.kind), one.name), el("td", {}, `${one.count} ×`), el("td", {}, duration(one.total)), el("td", { class: "muted" }, duration(one.total / one.count))));
  return el("section", { class: "card area" },
    el("header", {}, el("h3", {}, `${duration(area.to - area.from)} of ${plural(area.lanes, "lane")}`), el("button", { type: "button", class: "icon", "aria-label": "Close", click: close }, "×")),
    el("p", { class: "muted" }, "phases that touch the area: count, time within it, mean"),
    el("table", { class: "parts" }, el("tbody", {}, rows)));
}

export class Inspector {
  /** `stacks` and `analysis` draw parts of the panel themselves. */
  constructor(element, { details, theme, stacks, analysis }, on) {
    Object.assign(this, { element, details, theme, stacks, analysis, on, stamp: "", subject: null, more: null, asked: "", age: el("p"), taken: new FindingStacks() });
  }

  /** `facts` is the selected phase or null, `area` the statistics of a selected area or null, `round` may be null; `byWorker`: the table of workers is shown. */
  draw({ store, facts, area, round, now, byWorker }) {
    this.#ask(facts);
    const stacks = this.stacks.draw(subjectOf(facts, this.more));
    const ago = endedAgo(store, facts, now);
    this.age.hidden = !ago;
    say(this.age, ago);
    const subject = facts && `${facts.attempt}.${facts.id}`;
    // What is pressed, read or marked stays as it is until then.
    if (this.element.matches(":active") || this.element.querySelector(":popover-open") || (subject === this.subject && marking(this.element))) return;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const failure = failureOf(store);
    const words = wordsOf(store);
    const analysis = round && this.analysis.draw({ store, round, words, theme: this.theme });
    const [last] = round ? store.collectives.ofRound(store.lanes, round.index) : [];
    const findings = grouped(store, round);
    const beat = (round && !round.closed) || facts?.open ? Math.floor(now / 5e8) : 0;
    const stamp = JSON.stringify([this.theme.bg, facts && [facts.attempt, facts.id, facts.end], area?.key, failure, round, analysis && this.analysis.stamp, findings, beat, byWorker, this.more, words, last && [last.least.index, last.most.index, last.waited]]);
    if (stamp === this.stamp) return;
    Object.assign(this, { stamp, subject });
    fill(this.element,
      failure && failureCard(failure, words),
      facts && phaseSection(store, facts, this.more, this.age, stacks, this.on),
      area && areaSection(area, this.on.close),
      round ? roundSection({ store, round, last, words, now, byWorker }, { ...this.on, theme: this.theme, analysis: this.analysis }) : el("p", { class: "muted" }, `What kept the GPUs waiting stands here as soon as a ${words.round} has begun.`),
      this.#findings(findings, { store, words, round, show: this.on.show, investigate: this.on.investigate, stacks: this.taken }));
    this.taken.restore(this.element);
    if (focused) this.element.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  #findings({ here, others, known, whole }, scene) {
    const cards = (findings) => findings.map((finding) => findingCard(finding, scene));
    const titled = (heading, findings) => (findings.length ? [el("h2", {}, heading), cards(findings.slice(0, MOST_CARDS))] : []);
    return [cards(here), titled("Other open findings", others), titled("Worth knowing", known), titled("Of the whole run", whole)].flat(2);
  }

  async #ask(facts) {
    const key = facts ? `${facts.attempt}.${facts.id}.${Boolean(facts.open)}` : "";
    const again = key && this.more && !this.more.readings?.settled && performance.now() - this.askedAt > AGAIN_MS;
    if (key === this.asked && !again) return;
    if (key !== this.asked) this.more = null;
    this.asked = key;
    this.askedAt = performance.now();
    const more = facts ? await this.details.of(facts) : null;
    if (this.asked === key && (more || !again)) this.more = more;
  }
}
