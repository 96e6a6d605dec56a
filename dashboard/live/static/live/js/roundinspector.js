// What a closed round waited for: two bars that sum, what would save time, intervals, and what could not be seen.

import { checkText, fixRows, gpuSeconds, pathRows, sightText, waitingRows, whoseText } from "./analysis.js";
import { definition } from "./definition.js";
import { el, fill } from "./dom.js";
import { duration, isolated, plural, share } from "./format.js";
import { bar, partRow, totalRow } from "./parts.js";

const SETTLING_MS = 200;
const UNJUDGED_MS = 1500;
// Steps of a fast run follow each other at once.
const SHORT_NS = 10e9;
const APART_MS = 2000;
const LITTLE = 0.5;

/** A figure's name as a heading, or in a line, that opens what it means. */
function named(tag, label, text) {
  const { button, card } = definition(label, text, { "aria-label": `${label}: what it means` });
  return el(tag, {}, button, card);
}

export class RoundInspector {
  /** `on`: go(piece, begin, end) to its bar, times in ns since the store's origin; changed() when an answer has come. */
  constructor(url, on) {
    Object.assign(this, { url, on, answer: null, newest: null, asked: null, askedAt: -Infinity, failed: false, opened: new Set(), stamp: "" });
    this.element = el("div", { class: "analysis" });
  }

  /** What stands below the round's head; `ready` says whether the two bars are in it. */
  draw({ store, round, words, theme }) {
    this.#ask(round);
    const answer = round?.closed ? this.answer : null;
    this.ready = answer?.state === "ready";
    const stale = this.ready && answer.round !== round.index;
    const stamp = JSON.stringify([this.version, answer?.round, round?.closed, stale, this.failed, words.round, words.worker, theme.bg, String(store.origin)]);
    if (stamp === this.stamp) return this.element;
    this.stamp = stamp;
    this.element.setAttribute("aria-busy", String(Boolean(stale)));
    if (this.ready) fill(this.element, this.#sections(answer, { store, words, theme }));
    else fill(this.element, el("p", { class: "muted", role: "status" }, this.#missing(round, answer, words)));
    return this.element;
  }

  #missing(round, answer, words) {
    if (!round?.closed) return `What kept the GPUs waiting is computed when the ${words.round} has ended.`;
    if (this.failed) return "What kept the GPUs waiting could not be loaded; asking again.";
    if (answer?.state === "absent" && answer.round === round.index) return `Too little recorded: no phases of this ${words.round} are kept.`;
    return "What kept the GPUs waiting is not computed yet.";
  }

  #sections(answer, { store, words, theme }) {
    const begin = store.fromUnix(answer.begin_ns);
    const goTo = (piece) => piece?.worker && (() => this.on.go(piece, begin + (piece.at_ns ?? 0), begin + (piece.at_ns === undefined ? answer.wall_ns : piece.at_ns + piece.ns)));
    const known = { answer, words, theme, goTo, wall: duration(answer.wall_ns), round: `${words.round} ${answer.round}` };
    const little = answer.coverage !== null && answer.coverage < LITTLE;
    return [
      little && el("p", { class: "too-little", "data-tone": "warn" }, `Too little recorded: phases cover ${share(answer.coverage)} of the ${words.trainer}s’ time, and what follows explains no more.`),
      this.#waiting(known), this.#path(known), this.#whatIf(known), this.#intervals(known), this.#exchange(known), this.#sights(known),
    ];
  }

  #waiting({ answer, words, theme, goTo, wall, round }) {
    const { trainers, waiting_ns: total } = answer;
    const title = `What kept GPUs waiting in ${round}`;
    if (!trainers) return el("section", {}, el("h3", {}, title), el("p", { class: "muted" }, `No ${words.trainer} took part in it.`));
    const rows = waitingRows(answer.waiting, words, answer.wall_ns * trainers).map((row) => ({ ...row, detail: whoseText(row, words), seconds: row.ns / trainers / 1e9, share: row.ns / total, go: goTo(row.piece) }));
    const mean = duration(total / trainers);
    const explained = answer.coverage === null ? "" : ` · ${share(answer.coverage)} explained`;
    const text = `A ${words.trainer}’s GPU waits while it is in no compute phase: wall time less the union of its compute phases. Each such instant counts for what the ${words.trainer} does then or, while it only waits, for what the critical path is at. Seconds are the mean of ${plural(trainers, words.trainer)}, shares are of ${mean}, the mean GPU waiting. Explained is how much of the wall time their phases cover, waits included. One ${words.round}.`;
    return el("section", { class: "kept-waiting" }, named("h3", title, text),
      el("p", { class: "muted" }, `${mean} of ${wall}, mean of ${plural(trainers, words.trainer)}${explained}`),
      total > 0 && [bar(rows, theme), el("table", { class: "parts" }, el("tbody", {}, rows.map(partRow), totalRow("GPU waiting, mean", total / trainers / 1e9, total)))]);
  }

  #path({ answer, words, theme, goTo, wall, round }) {
    const rows = pathRows(answer.path, words, answer.wall_ns).map((row) => ({ ...row, detail: isolated(row.worker), seconds: row.ns / 1e9, share: row.ns / answer.wall_ns, go: goTo(row.piece) }));
    const gaps = answer.path.filter(({ gap }) => gap).reduce((sum, { ns }) => sum + ns, 0);
    const error = Math.max(0, ...answer.path.map((piece) => piece.error_ns));
    const unclaimed = answer.unclaimed ? ` ${plural(answer.unclaimed, "wait")} could not be placed, for a clock is not known.` : "";
    const text = `What the end of ${round} waited for, walked back from its end: always to what ended last of what had to end. Its parts follow each other without overlap and sum to the wall time, ${wall}, of which shares are. A gap is time on it that no phase covers. Where it changes workers their clocks may be ±${duration(error)} apart.${unclaimed} One ${words.round}.`;
    return el("section", { class: "critical-path" }, named("h3", "Critical path", text),
      el("p", { class: "muted" }, `sums to ${wall}${gaps ? ` · ${duration(gaps)} not instrumented` : ""}`),
      bar(rows, theme),
      el("table", { class: "parts" }, el("tbody", {}, rows.map(partRow), totalRow("wall time", answer.wall_ns / 1e9, answer.wall_ns))));
  }

  #whatIf({ answer, words, wall, round }) {
    const { what_if: found } = answer;
    const rows = fixRows(found);
    const text = `${round} replayed with these at their peers’ pace, the lower median of the other ${words.worker}s’ time for the same work; everything else and all gaps stay. What is saved is of its wall time, ${wall}. GPU seconds are what other ${words.trainer}s lost waiting for it, summed. One ${words.round}.`;
    const nothing = found.abstained || (found.recoverable_ns > 0 ? "Nothing by itself would save a thousandth of it." : "Nobody took longer than its peers on what it waited for.");
    return el("section", { class: "card what-if" }, named("h3", "What if", text),
      rows.length > 0 && el("table", { class: "parts" }, el("tbody", {}, rows.map(({ text: scope, saved, waited }) => el("tr", { "data-ns": saved },
        el("th", { scope: "row" }, scope, gpuSeconds(waited) && el("small", { class: "muted" }, `others lost ${gpuSeconds(waited)} to it`)),
        el("td", { "data-tone": saved > 0 ? "good" : null }, saved > 0 ? `−\u00a0${duration(saved)}` : "saves nothing"))))),
      (!rows.length || found.abstained) && el("p", { class: "muted" }, nothing));
  }

  #intervals({ answer, words, theme, goTo, round }) {
    if (!answer.intervals.length) return null;
    const text = `The time between two boundaries of ${round}, its check, and the critical path between them; what no phase of it covers is not instrumented. Where clocks’ errors could turn the answer none is given. One ${words.round}.`;
    return el("section", { class: "card intervals" }, named("h3", "Intervals", text), answer.intervals.map((interval) => this.#interval(interval, { words, theme, goTo })));
  }

  #interval(interval, { words, goTo }) {
    const [check, tone] = checkText(interval);
    const line = [el("span", {}, isolated(interval.name)), el("b", {}, interval.ns === null ? "–" : duration(interval.ns)), el("span", { "data-tone": tone }, check)];
    if (!interval.parts.length) return el("p", { class: "interval", title: interval.between || null }, line);
    const rows = pathRows(interval.parts, words, interval.ns).map((row) => ({ ...row, detail: isolated(row.worker), seconds: row.ns / 1e9, share: row.ns / interval.ns, go: goTo(row.piece) }));
    const keep = ({ target }) => (target.open ? this.opened.add(interval.name) : this.opened.delete(interval.name));
    const missing = el("p", { class: "muted" }, interval.between && [isolated(interval.between), el("br")], `${interval.not_instrumented_ns ? `${duration(interval.not_instrumented_ns)} not` : "all of it"} instrumented · ±\u00a0${duration(interval.error_ns)}`);
    return el("details", { open: this.opened.has(interval.name), toggle: keep }, el("summary", { class: "interval" }, line), el("table", { class: "parts" }, el("tbody", {}, rows.map(partRow))), missing);
  }

  #exchange({ answer, words, wall, round }) {
    const { comm_share: comm, exposed_share: exposed, exchange_share: exchange, overlap, band, abstained } = answer.communication;
    if (comm === null && exchange === null) return abstained ? el("p", { class: "muted" }, `Communication: ${abstained}.`) : null;
    const mean = `of ${wall}, mean of ${plural(answer.trainers, words.trainer)}, ${round}`;
    const facts = [
      [comm, "Communication", `Transfers between machines, waiting left out, ${mean}. Healthy below 15 %, alarming above 30 %; overlapped where the part beside which nothing computes is in another band.`, band],
      [exposed, "Not hidden behind compute", `The part of those transfers beside which nothing computes, ${mean}.`],
      [overlap, "Overlap", `The share of all transfer beside which something computes, mean of ${plural(answer.trainers, words.trainer)}, ${round}.`],
      [exchange, "Exchange", `GPU waiting, ${mean}, where only “train” computes.`],
    ].filter(([value]) => value !== null);
    return el("section", { class: "card exchange" }, el("h3", {}, "Exchange"),
      el("dl", {}, facts.map(([value, label, text, note]) => [named("dt", label, text), el("dd", { "data-tone": note === "alarming" ? "warn" : null }, share(value), note ? ` · ${note}` : "")])));
  }

  #sights({ answer, words }) {
    const { judged } = answer;
    if (!judged?.length) return null;
    const keep = ({ target }) => (target.open ? this.opened.add("") : this.opened.delete(""));
    return el("details", { class: "sights", open: this.opened.has(""), toggle: keep }, el("summary", {}, "Who could have been called slow here"),
      el("dl", {}, judged.map((sight) => [el("dt", {}, [sight.phase, sight.group].filter(Boolean).map(isolated).join(" · ")), el("dd", {}, sightText(sight, words))])));
  }

  /** Asks for a closed round, and again when it was told anew; one answer at a time. */
  async #ask(round) {
    if (!round?.closed || this.busy || round === this.asked) return;
    const now = performance.now();
    if (round !== this.seen) Object.assign(this, { seen: round, seenAt: now });
    const left = Math.max(this.seenAt + this.#settling(round), this.askedAt + (this.failed || this.waits || round.end - round.begin < SHORT_NS ? APART_MS : 0)) - now;
    if (left > 0) return void (this.timer ??= setTimeout(() => this.#again(), left));
    Object.assign(this, { busy: true, askedAt: performance.now() });
    try {
      const answer = await fetch(`${this.url}?round=${round.index}`, { headers: { Accept: "application/json" } });
      this.failed = !answer.ok;
      if (answer.ok) this.answer = await answer.json();
      if (this.answer?.state === "ready" && !(this.newest?.round > this.answer.round)) this.newest = this.answer;
      this.waits = answer.ok && this.answer.state === "asked";
      if (answer.ok && !this.waits) this.asked = round;
    } catch {
      this.failed = true;
    }
    Object.assign(this, { busy: false, version: performance.now() });
    this.on.changed();
  }

  /** How long (ms) to wait for the server to have computed what was just told; whoever asks before has it computed. */
  #settling(round) {
    if (!this.asked) return 0;
    return Number.isFinite(round.coverage) ? SETTLING_MS : UNJUDGED_MS;
  }

  #again() {
    this.timer = null;
    this.on.changed();
  }
}
