// What a run's rounds and workers are called: in a data-parallel job they are steps and ranks.

const ROUNDS = { round: "round", worker: "worker", trainer: "trainer" };
const STEPS = { round: "step", worker: "rank", trainer: "rank" };

/** Whether the run is one job of equal ranks: it has no coordinator, and its phases are those of a step. */
function isDataParallel({ lanes, phases, collectives }) {
  const roles = new Set([...lanes.values()].map((lane) => lane.info.role));
  return roles.has("trainer") && !roles.has("coordinator") && (collectives.phases.size > 0 || phases.some((phase) => phase?.name === "step" && phase.kind === "compute"));
}

/** The run's words in the singular: {round, worker, trainer}. */
export function wordsOf(store) {
  const stamp = `${store.structure}/${store.phases.length}`;
  if (store.words?.stamp !== stamp) store.words = { ...(isDataParallel(store) ? STEPS : ROUNDS), stamp };
  return store.words;
}

export const capital = (word) => word[0].toUpperCase() + word.slice(1);
