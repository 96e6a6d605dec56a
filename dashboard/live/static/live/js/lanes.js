// Which lanes are shown, in which order and how high: rows of groups and lanes with their places in px.

import { natural, plural } from "./format.js";

export const DENSITIES = {
  comfortable: { pitch: 22, bar: 18, head: 18 },
  compact: { pitch: 7, bar: 6, head: 16 },
  overview: { pitch: 1, bar: 1, head: 0 },
};

/** The row height that suits a number of lanes, unless one was chosen. */
export function densityFor(chosen, count) {
  if (DENSITIES[chosen]) return chosen;
  if (count <= 64) return "comfortable";
  return count <= 256 ? "compact" : "overview";
}

const text = (lane) => [lane.info.name, lane.info.host, lane.info.machine, lane.info.site, lane.info.role].join(" ");

function matching(lanes, filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return lanes.filter((lane) => words.every((word) => text(lane).toLowerCase().includes(word)));
}

/** Order of lanes: by rank or name as people count, or slowest first by `busy` (ns without waiting, by lane). */
function ordered(lanes, sort, busy) {
  const byName = (a, b) => natural(a.info.name ?? "", b.info.name ?? "") || a.index - b.index;
  const slowest = (a, b) => (busy.get(b.index) ?? -1) - (busy.get(a.index) ?? -1);
  const order = { slowest, arrival: (a, b) => a.index - b.index }[sort] ?? byName;
  return [...lanes].sort((a, b) => order(a, b) || byName(a, b));
}

const shortName = (machine) => (machine.length > 12 ? machine.slice(0, 8) : machine);

function machineLabel(machine, lanes, worker) {
  const hosts = new Set(lanes.map((lane) => lane.info.host).filter(Boolean));
  const host = hosts.size === 1 ? `${[...hosts][0]} · ` : "";
  return `${host}machine ${shortName(machine)} · ${plural(lanes.length, worker)}`;
}

/** Groups in order: coordinators, machines that several workers share, then all that have a machine to themselves. */
function byMachine(lanes, worker) {
  const coordinators = lanes.filter((lane) => lane.info.role === "coordinator");
  const machines = new Map();
  for (const lane of lanes) {
    if (lane.info.role === "coordinator") continue;
    const machine = lane.info.machine ?? "";
    machines.set(machine, [...(machines.get(machine) ?? []), lane]);
  }
  const isShared = ([machine, members]) => machine && members.length > 1;
  const shared = [...machines].filter(isShared);
  const alone = new Set([...machines].filter((entry) => !isShared(entry)).flatMap(([, members]) => members));
  const groups = [];
  if (coordinators.length) {
    const site = coordinators[0].info.site ?? coordinators[0].info.host;
    groups.push({ key: "coordinator", label: `coordinator${site ? ` · ${site}` : ""}`, lanes: coordinators });
  }
  for (const [machine, members] of shared) groups.push({ key: `m:${machine}`, label: machineLabel(machine, members, worker), lanes: members });
  if (alone.size) groups.push({ key: "alone", label: aloneLabel(alone, shared.length, worker), lanes: lanes.filter((lane) => alone.has(lane)) });
  return groups;
}

function aloneLabel(alone, others, worker) {
  const machines = new Set([...alone].map((lane) => lane.info.machine).filter(Boolean)).size;
  if (!machines) return plural(alone.size, worker);
  return `${machines.toLocaleString("en")} ${others ? "more " : ""}${machines === 1 ? "machine" : "machines"} · ${plural(alone.size, worker)}`;
}

const TRACK = 30;

function grouped(lanes, options) {
  const pinned = lanes.filter((lane) => options.pins.has(lane.info.name));
  const rest = lanes.filter((lane) => !options.pins.has(lane.info.name));
  const groups = options.group === "machine" ? byMachine(rest, options.worker ?? "worker") : [{ key: "all", label: "", lanes: rest }];
  return pinned.length ? [{ key: "pinned", label: "pinned", lanes: pinned }, ...groups] : groups;
}

/**
 * Rows from top to bottom, {kind: "group"|"lane"|"track", y, height, label|lane|track}, their height in all and the
 * density used. `track(lane, next)` gives what is drawn under a lane, or null; lanes of the overview have no room for it.
 * `options`: group ("machine"|"none"), sort ("name"|"slowest"|"arrival"), rows (a density or "auto"), filter, pins (Set of names), worker (what one is called).
 */
export function arrange(lanes, options, busy = new Map(), track = () => null) {
  const shown = ordered(matching(lanes, options.filter), options.sort, busy);
  const density = densityFor(options.rows, shown.length);
  const { pitch, head } = DENSITIES[density];
  const rows = [];
  let y = 0;
  for (const group of grouped(shown, options)) {
    if (!group.lanes.length) continue;
    if (group.label && head) {
      rows.push({ kind: "group", label: group.label, y, height: head });
      y += head;
    }
    group.lanes.forEach((lane, i) => {
      rows.push({ kind: "lane", lane, y, height: pitch });
      y += pitch;
      const under = head ? track(lane, group.lanes[i + 1]) : null;
      if (!under) return;
      rows.push({ kind: "track", track: under, y, height: TRACK });
      y += TRACK;
    });
  }
  return { rows, height: y, density, bar: DENSITIES[density].bar, lanes: shown.length };
}

/** Index of the row at a height, -1 beyond the last. */
export function rowAt(rows, y) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle].y + rows[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  return low < rows.length && y >= 0 ? low : -1;
}
