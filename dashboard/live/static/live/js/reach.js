// From a piece of what is concluded of a round to its bar in the lanes.

import { locate } from "./detail.js";

const MARGIN = 0.08;
const NARROWEST = 3;

/** How well a phase is what was meant: of a gap the phase that began at its end, else what covers most of it. */
function fitOf(piece, begin, end, start, stop) {
  return piece.gap ? -Math.abs(start - end) : Math.min(stop, end) - Math.max(start, begin);
}

/**
 * The bar of a piece {worker, phase, gap} between two times (ns since the store's origin): {lane, start, end,
 * selection}, of which `selection` is null where the phase is not loaded; null where its worker is not known.
 */
export function findBar(store, piece, begin, end) {
  const lane = [...store.lanes.values()].find(({ info }) => info.name === piece.worker);
  if (!lane) return null;
  let best = { lane, start: begin, end, selection: null };
  let fit = -Infinity;
  const offer = (span, phase) => {
    if (store.phase(phase).name !== piece.phase) return;
    const fits = fitOf(piece, begin, end, span.start, span.end);
    if (fits <= fit) return;
    fit = fits;
    best = { lane, start: span.start, end: span.end, selection: { attempt: span.attempt, id: span.id, lane: lane.index } };
  };
  const { spans } = lane;
  spans.each(begin - 1000, end + 1000, (i) => offer({ start: spans.start[i], end: spans.end[i], attempt: spans.attempt[i], id: spans.id[i] }, spans.phase[i]));
  for (const open of lane.open) if (open.start < end) offer(open, open.phase);
  return best;
}

/** Selects the bar of a piece and brings it into sight; the round in question stays, even where it began before. */
export function reach(page, actions, piece, begin, end) {
  const bar = findBar(page.store, piece, begin, end);
  if (!bar) return;
  const asked = page.round()?.index ?? null;
  bringIntoSight(page, actions, bar, (end - begin) * MARGIN);
  actions.select(bar.selection);
  page.ui.round = asked;
  actions.on.changed();
}

/** The same for a phase {attempt, id, lane}, whose round is then the one in question. */
export function reachPhase(page, actions, selection) {
  const facts = locate(page.store, selection);
  if (facts) bringIntoSight(page, actions, facts, (facts.end - facts.start) * MARGIN);
  actions.select(selection);
}

function bringIntoSight(page, actions, { lane, start, end }, margin) {
  const { ui, view, elements } = page;
  ui.show = "lanes";
  if (!page.layout.rows.some((row) => row.lane === lane)) ui.filter = "";
  page.arrange();
  const seen = Math.min(end, view.to) - Math.max(start, view.from);
  const narrow = (end - start) / view.perPixel < NARROWEST;
  if (seen <= 0 || narrow) {
    const room = Math.max(1000, (end - start) * (narrow ? 4 : 1)) + margin;
    view.show(start - room, end + room);
  }
  const { top, bottom } = elements.scroller.getBoundingClientRect();
  if (bottom < 0 || top > innerHeight) elements.scroller.scrollIntoView();
  actions.on.scrollTo(page.layout.rows.find((row) => row.lane === lane));
}
