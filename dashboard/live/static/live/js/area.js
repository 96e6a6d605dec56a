// Statistics of an area that was dragged over lanes and time.

import { rowAt } from "./lanes.js";

/** Statistics of an area of the page {from, to: ns, top, bottom: px of what is in sight}, with a `key` of its own. */
export function statisticsIn({ layout, store, viewport }, { from, to, top, bottom }) {
  const first = Math.max(0, rowAt(layout.rows, viewport.top + top));
  const last = rowAt(layout.rows, viewport.top + bottom);
  const rows = layout.rows.slice(first, last < 0 ? undefined : last + 1).filter((row) => row.kind === "lane");
  return { ...statistics(store, rows.map((row) => row.lane), from, to), key: `${from}/${to}/${top}/${bottom}` };
}

/** Phases that touch [from, to] on the given lanes, by name, with the time they have within it (ns), longest first. */
export function statistics(store, lanes, from, to) {
  const byPhase = new Map();
  const count = (phase, start, end) => {
    const { name, kind } = store.phase(phase);
    const known = byPhase.get(phase) ?? { name, kind, count: 0, total: 0 };
    known.count += 1;
    known.total += Math.max(0, Math.min(end, to) - Math.max(start, from));
    byPhase.set(phase, known);
  };
  for (const { spans, open } of lanes) {
    spans.each(from, to, (i) => count(spans.phase[i], spans.start[i], spans.end[i]));
    for (const one of open) if (one.end >= from && one.start < to) count(one.phase, one.start, one.end);
  }
  const phases = [...byPhase.values()].sort((a, b) => b.total - a.total);
  return { from, to, lanes: lanes.length, phases };
}
