// What is concluded of one round, as rows that sum: its critical path, what kept its GPUs waiting, what would save time.

import { isolated, plural } from "./format.js";

const MOST_ROWS = 24;
// The share of a round below which a gap tells nothing by itself.
const SLIGHT = 0.005;
const MOST_FIXES = 6;
const MOST_NAMED = 4;
// What the server calls pieces that it told together.
const SEVERAL = "several short phases";

/** What a piece is called, without its worker. */
export function pieceName({ phase, gap }, words) {
  if (!gap) return phase === SEVERAL ? phase : isolated(phase);
  return phase ? `gap before ${isolated(phase)}` : `gap at the ${words.round}’s end`;
}

/** A kind that has a colour; null for what no phase explains. */
const kindOf = ({ kind, gap }) => (gap ? null : kind);

/** Rows or pieces without their gaps shorter than `least` ns, and these together as a list of at most one row. */
function parted(all, least) {
  const slight = all.filter(({ gap, ns }) => gap && ns < least);
  const ns = slight.reduce((total, one) => total + one.ns, 0);
  const name = `${plural(slight.length, "short gap")}${slight.length > 1 ? ", together" : ""}`;
  const row = { name, worker: "", kind: null, ns, others: 0, workers: 0, greatest: 0, most: "", piece: null };
  return [all.filter((one) => !slight.includes(one)), slight.length ? [row] : []];
}

/**
 * Pieces of a path in their order as rows {name, worker, kind, ns, piece}: the longest by themselves, what is short in
 * between as one each time, about `most` in all, then the gaps that are next to nothing of `whole` (ns) together.
 */
export function pathRows(all, words, whole = 0, most = MOST_ROWS) {
  const [pieces, slight] = parted(all, whole * SLIGHT);
  const least = pieces.length > most ? pieces.map(({ ns }) => ns).sort((a, b) => b - a)[most / 2 - 1] : -1;
  const rows = [];
  for (const piece of pieces) {
    const before = rows.at(-1);
    if (piece.ns > least) rows.push({ name: pieceName(piece, words), worker: piece.worker, kind: kindOf(piece), ns: piece.ns, piece: piece.phase === SEVERAL ? null : piece });
    else if (before?.count) Object.assign(before, { ns: before.ns + piece.ns, count: before.count + 1, name: plural(before.count + 1, "short piece") });
    else rows.push({ name: "1 short piece", worker: "", kind: "other", ns: piece.ns, piece: null, count: 1 });
  }
  return [...rows, ...slight];
}

/**
 * What trainers lost as rows by phase, in the order in which they were first lost to: {name, kind, ns (all trainers
 * together), others, workers, most: whose it was mostly, piece}; the least of more than `most` are one row, and so are
 * the gaps that are next to nothing of `whole` (ns, all trainers together).
 */
export function waitingRows(shares, words, whole = 0, most = MOST_ROWS) {
  const found = new Map();
  for (const share of shares) {
    const key = `${share.gap}/${share.phase}`;
    const ns = share.own_ns + share.others_ns;
    const row = found.get(key) ?? { name: pieceName(share, words), kind: kindOf(share), gap: share.gap, ns: 0, others: 0, workers: 0, greatest: -1 };
    if (ns > row.greatest) Object.assign(row, { greatest: ns, most: share.worker, piece: share.worker ? share : null });
    found.set(key, Object.assign(row, { ns: row.ns + ns, others: row.others + share.others_ns, workers: row.workers + 1 }));
  }
  const [rows, slight] = parted([...found.values()], whole * SLIGHT);
  if (rows.length <= most) return [...rows, ...slight];
  const kept = new Set([...rows].sort((a, b) => b.ns - a.ns).slice(0, most - 1));
  const short = rows.filter((row) => !kept.has(row));
  const sum = (name) => short.reduce((total, row) => total + row[name], 0);
  return [...rows.filter((row) => kept.has(row)), { name: plural(short.length, "shorter phase"), kind: "other", ns: sum("ns"), others: sum("others"), workers: 0, greatest: 0, most: "", piece: null }, ...slight];
}

/** Whose a row of waiting was: the one worker, the one that most of it is due to, or how many; "" where nobody is named. */
export function whoseText({ workers, most, greatest, ns }, words) {
  if (!most) return "";
  if (workers === 1) return isolated(most);
  return greatest * 2 > ns ? `mostly ${isolated(most)}` : plural(workers, words.worker);
}

function listed(names) {
  const shown = names.slice(0, MOST_NAMED).map(isolated);
  if (names.length > MOST_NAMED) shown.push(`${names.length - MOST_NAMED} more`);
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown[0];
}

/** What a what-if is of: "encode of host-06 and host-07". */
export function scopeText(scope) {
  if (Array.isArray(scope)) {
    const byPhase = new Map();
    for (const { worker, phase } of scope) byPhase.set(phase, [...(byPhase.get(phase) ?? []), worker]);
    return [...byPhase].map(([phase, workers]) => `${isolated(phase)} of ${listed(workers)}`).join(", ");
  }
  const { worker, phase, machine, site } = scope;
  if (worker) return phase ? `${isolated(phase)} of ${isolated(worker)}` : `everything of ${isolated(worker)}`;
  if (phase) return `every ${isolated(phase)}`;
  return machine ? `everything on ${isolated(machine)}` : `everything in ${isolated(site)}`;
}

/** The fixes worth telling: those that help together, each of them alone, then the others: {text, saved, waited, alone}. */
export function fixRows({ joint, fixes }) {
  const items = joint?.items.length > 1 ? joint.items : [];
  const of = ({ worker, phase }) => fixes.find(({ scope }) => scope.worker === worker && scope.phase === phase);
  const alone = items.slice(0, MOST_NAMED).map(of).filter(Boolean);
  const rest = fixes.filter((fix) => !alone.includes(fix)).slice(0, MOST_FIXES - alone.length);
  const row = (fix, lone) => ({ text: `${scopeText(fix.scope)}${lone ? " alone" : ""}`, saved: fix.saved_ns, waited: fix.waited_ns });
  const together = items.length ? [{ text: scopeText(items), saved: joint.saved_ns, waited: alone.reduce((sum, fix) => sum + fix.waited_ns, 0) }] : [];
  return [...together, ...alone.map((fix) => row(fix, true)), ...rest.map((fix) => row(fix, false))];
}

/** GPU time given in ns, with as many digits as mean something; "" for what is next to nothing. */
export function gpuSeconds(ns) {
  const seconds = ns / 1e9;
  if (seconds < 0.001) return "";
  const text = seconds < 10 ? String(Number(seconds.toPrecision(2))) : Math.round(seconds).toLocaleString("en");
  return `${text} GPU-second${text === "1" ? "" : "s"}`;
}

/** Whether an interval passed its check, in words, with the tone to say it in. */
export function checkText({ abstained, most_s: most, passed }) {
  if (abstained) return [`not measured: ${abstained}`, "muted"];
  if (most === null) return ["no check", "muted"];
  if (passed === null) return [`≤ ${most} s: within the clocks’ error`, "warn"];
  return passed ? [`passed, ≤ ${most} s`, "good"] : [`failed, ≤ ${most} s`, "bad"];
}

/** What detection could see of a phase in this round. */
export function sightText({ workers, smallest_ratio: ratio, abstained }, words) {
  if (abstained) return abstained;
  return ratio === null ? "nobody to compare with" : `from ${ratio.toFixed(2)} × its peers on, of ${plural(workers, words.worker)}`;
}
