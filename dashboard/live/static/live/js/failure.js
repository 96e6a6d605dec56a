// Why a run failed: the worst end of a worker, the earliest of equals, as its agent or the server told it.

import { isolated } from "./format.js";

const WORST_FIRST = ["failed", "killed", "lost"];

/** When a worker was last heard of (ns); Infinity where that is not known. */
function lastHeard(store, lane) {
  const heard = [...store.attempts.values()].filter((attempt) => attempt.lane === lane.index).map((attempt) => attempt.heard);
  const known = heard.filter(Number.isFinite);
  return known.length ? Math.max(...known) : Infinity;
}

const compare = (a, b) => (a === b ? 0 : a < b ? -1 : 1);

/** {state, reason, worker, others: how many more ended so}, or null while no worker ended badly. */
export function failureOf(store) {
  const lanes = [...store.lanes.values()];
  const state = WORST_FIRST.find((bad) => lanes.some((lane) => lane.info.state === bad));
  if (!state) return null;
  const fallen = lanes.filter((lane) => lane.info.state === state).sort((a, b) => compare(lastHeard(store, a), lastHeard(store, b)));
  const { name, state_reason: reason = "" } = (fallen.find((lane) => lane.info.state_reason) ?? fallen[0]).info;
  return { state, reason: reason.replace(/\.$/, ""), worker: name, others: fallen.length - 1 };
}

/** The same in one line: "failed: out of memory · trainer-1". */
export function failureText({ state, reason, worker }) {
  return `${reason ? `${state}: ${isolated(reason)}` : state} · ${isolated(worker)}`;
}
