// Until when a run is drawn: to now while it goes on, to its own end once it has ended, however late that was told.

/**
 * The end of an ended run, ns since the store's origin: its last phase or event. Where a phase was cut short, all
 * workers told their end, or nothing else is known, the end as the server has it, but none later than a word of it came.
 */
export function endOf(store) {
  const { recorded, latest, run } = store;
  const cut = [...store.lanes.values()].some((lane) => lane.open.length);
  if (Number.isFinite(recorded) && !cut && run.state !== "finished") return recorded;
  return Math.max(recorded, run.ended_ns ? Math.min(store.fromUnix(run.ended_ns), latest) : latest);
}

/** How far anything of the run reaches by what is here: of an ended one its end. */
export function reachOf(store) {
  return store.ended ? endOf(store) : store.latest;
}
