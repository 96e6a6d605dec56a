// The cards of findings: which stand beside a round, and what each says.

import { el } from "./dom.js";
import { isolated } from "./format.js";
import { capital } from "./words.js";

const MOST_MARKED = 8;
const MOST_RANGES = 6;
const NO_ROUND = [];

/** Numbers of rounds in words, those that follow each other as a range: "steps 200 to 299", "rounds 3, 7 to 9". */
export function roundsText(rounds, word) {
  const ranges = [];
  for (const index of [...new Set(rounds)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && index === last[1] + 1) last[1] = index;
    else ranges.push([index, index]);
  }
  if (!ranges.length) return "";
  const said = ranges.slice(-MOST_RANGES).map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first} to ${last}`));
  const several = ranges.length > 1 || ranges[0][0] < ranges[0][1];
  return `${word}${several ? "s" : ""} ${ranges.length > MOST_RANGES ? "…, " : ""}${said.join(", ")}`;
}

/**
 * Findings by where they stand: `here` of the round, `others` that are open and need a look, `known` that are open and
 * only worth knowing, `whole` of an ended run, which are of no round.
 */
export function grouped(store, round) {
  const here = round ? store.marks.ofRound(round.index) : NO_ROUND;
  const open = store.marks.open.filter((finding) => !here.includes(finding));
  const whole = store.ended ? [...store.marks.findings.values()].filter(({ state, rounds }) => state !== "open" && !rounds?.length) : NO_ROUND;
  return { here, others: open.filter((finding) => !isInfo(finding)), known: open.filter(isInfo), whole };
}

const isInfo = ({ severity }) => severity === "info";

/** The tag of a finding: its state, which what is only worth knowing has none of, and its rounds. */
export function tagOf(finding, word) {
  return [isInfo(finding) ? "" : finding.state, roundsText(finding.rounds ?? [], word)].filter(Boolean).join(" · ");
}

/** The bars that a finding marks, one for each worker: that in round `index`, else its newest: [{attempt, id, lane}]. */
export function markedBars({ spans = [] }, index) {
  const byLane = new Map();
  for (const [attempt, id, lane, round] of spans) {
    const known = byLane.get(lane);
    if (!known || known.round !== index) byLane.set(lane, { attempt, id, lane, round });
  }
  return [...byLane.values()].slice(0, MOST_MARKED).map(({ attempt, id, lane }) => ({ attempt, id, lane }));
}

function marked(finding, { store, round, show }) {
  const shown = markedBars(finding, round?.index).map((selection) => [isolated(store.lanes.get(selection.lane)?.info.name ?? ""), selection]).filter(([name]) => name);
  return shown.length > 0 && el("p", { class: "marked" }, shown.map(([name, selection]) => el("button", { type: "button", class: "part-name", "aria-label": `To the bar of ${name}`, click: () => show(selection) }, name)));
}

/** Which thresholds a finding was judged with that are not the default; empty for none. */
export function judgedText({ evidence }) {
  const said = (evidence?.thresholds ?? []).map(({ words }) => words);
  return said.length ? `Judged with ${said.join("; ")}.` : "";
}

/** What a card says first: what was found, by the name that every page has for it, and in which phase if in any. */
export function headingOf({ kind, name = kind, phase }) {
  return phase ? `${capital(name)} ${isolated(phase)}` : capital(name);
}

/**
 * A card of one finding; `show` leads to a bar, `stacks` draws what was taken of its processes, `investigate` is the path
 * of the page that begins an investigation, `round` may be null.
 */
export function findingCard(finding, scene) {
  const { store, words, stacks } = scene;
  const tag = tagOf(finding, words.round);
  return el("section", { class: "card finding", "data-severity": finding.severity },
    el("header", {}, el("h3", {}, headingOf(finding)), tag && el("span", { class: `tag ${isInfo(finding) ? "" : finding.state}` }, tag)),
    el("p", {}, el("span", { class: "tag observed" }, "observed"), " ", finding.observed),
    finding.hypothesis && el("p", {}, el("span", { class: "tag hypothesis" }, "hypothesis"), " ", finding.hypothesis),
    judgedText(finding) && el("p", { class: "muted" }, judgedText(finding)),
    marked(finding, scene),
    scene.investigate && el("p", {}, el("a", { href: `${scene.investigate}?finding=${encodeURIComponent(finding.id)}`, "aria-label": `Investigate: ${headingOf(finding)}` }, "Investigate")),
    stacks.draw(finding, store.lanes));
}
