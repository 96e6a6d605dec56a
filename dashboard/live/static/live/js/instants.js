// Events: named instants on a lane, each a mark that hangs from the top of its bar.

// How far from its mark an event is met, in px, and how deep marks reach into a bar.
const NEAR = 5;
const DEEP = 9;

/** Index of the first event at or after `time` (ns) in a lane's, which stand in order. */
export function firstAt(events, time) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (events[middle].start < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The event whose mark is met at a time of a lane, `depth` px below the top of its bar; null where none is. */
export function instantNear(lane, time, perPixel, depth) {
  if (depth > DEEP) return null;
  const reach = NEAR * perPixel;
  const { events } = lane;
  let best = null;
  for (let i = firstAt(events, time - reach); i < events.length && events[i].start <= time + reach; i++) {
    if (!best || Math.abs(events[i].start - time) <= Math.abs(best.start - time)) best = events[i];
  }
  return best;
}

/** Draws events at their places {event, x, y, size}; amber where memory was not given back. */
export function drawInstants(context, places, { theme, store, hover, selected }) {
  const is = (other, event) => other && other.attempt === event.attempt && other.id === event.id;
  context.lineWidth = 1;
  for (const { event, x, y, size } of places) {
    context.fillStyle = is(selected, event) ? theme.accent : store.phase(event.phase).name === "retained" ? theme.warn : theme.text;
    context.strokeStyle = is(hover, event) ? theme.accent : theme.bg;
    context.beginPath();
    context.moveTo(x - size * 0.75, y);
    context.lineTo(x + size * 0.75, y);
    context.lineTo(x, y + size * 1.25);
    context.closePath();
    context.fill();
    if (size > 3) context.stroke();
  }
}
