// Sizes as the browser laid them out, and which rows of the lanes are in sight.

import { firstAt, instantNear } from "./instants.js";
import { rowAt } from "./lanes.js";

/** Gives the view its width and the page its `viewport`: px from the first lane's top that are in sight, and how many. */
export function measure(page) {
  const { elements, layout, view } = page;
  const { scroller, lanes, plot, gutter, root } = elements;
  view.width = Math.max(50, scroller.clientWidth - gutter.offsetWidth);
  lanes.style.height = `${layout.height}px`;
  root.dataset.density = layout.density;
  const height = Math.max(1, Math.min(layout.height, scroller.clientHeight));
  plot.style.width = `${view.width}px`;
  plot.style.height = `${height}px`;
  const scrolled = Math.round(scroller.getBoundingClientRect().top - lanes.getBoundingClientRect().top);
  page.viewport = { top: Math.min(Math.max(0, scrolled), Math.max(0, layout.height - height)), height };
}

/** Rows between the edges of the viewport, with their place in it. */
export function* rowsInSight(layout, { top, height }) {
  for (let i = Math.max(0, rowAt(layout.rows, top)); i < layout.rows.length && layout.rows[i].y < top + height; i++) {
    yield layout.rows[i];
  }
}

/** Lost records in sight, as rectangles. */
export function gapsInSight(layout, view, viewport) {
  const found = [];
  for (const { lane, y, height } of rowsInSight(layout, viewport)) {
    for (const gap of lane?.gaps ?? []) {
      const x0 = view.x(gap.begin);
      const x1 = view.x(Number.isNaN(gap.end) ? gap.begin : gap.end);
      const place = y - viewport.top + (height - layout.bar) / 2;
      if (x1 >= 0 && x0 <= view.width) found.push({ x0, x1, y: place, height: layout.bar, gap });
    }
  }
  return found;
}

/** Events in sight with their places: {event, x, y, size}; of those within a pixel the last. */
export function instantsInSight(layout, view, viewport) {
  const found = [];
  for (const { lane, y, height } of rowsInSight(layout, viewport)) {
    const events = lane?.events ?? [];
    let before = -Infinity;
    for (let i = firstAt(events, view.from); i < events.length && events[i].start <= view.to; i++) {
      const x = view.x(events[i].start);
      if (x - before < 1) found.pop();
      before = x;
      found.push({ event: events[i], x, y: y - viewport.top + (height - layout.bar) / 2, size: Math.max(2, Math.min(7, layout.bar / 2)) });
    }
  }
  return found;
}

/** What lies at a point of the lanes: {row, lane, time, gap, event} or null. */
export function under(page, point) {
  const { layout, view, viewport } = page;
  const row = layout.rows[rowAt(layout.rows, viewport.top + point.y)];
  if (!row?.lane) return null;
  const time = view.time(point.x);
  const gap = row.lane.gaps.find((one) => one.begin <= time + view.perPixel * 2 && one.end >= time - view.perPixel * 2);
  const depth = viewport.top + point.y - row.y - (row.height - layout.bar) / 2;
  return { row, lane: row.lane, time, gap, event: instantNear(row.lane, time, view.perPixel, depth) };
}
