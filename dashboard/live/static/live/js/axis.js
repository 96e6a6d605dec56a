// The time axis: where its ticks stand, what they say, and the line of now.

import { timeStep } from "./arithmetic.js";
import { fit } from "./dom.js";
import { clockTime } from "./format.js";

const SPACING = 84;
const MINUS = "-";

/** A time before now in the unit its step calls for. */
export function relativeLabel(ns, step) {
  if (ns === 0) return "now";
  const sign = ns < 0 ? MINUS : "+";
  const size = Math.abs(ns);
  if (step < 1e6) return `${sign}${Math.round(size / 1e3)} µs`;
  if (step < 1e8) return `${sign}${Math.round(size / 1e6)} ms`;
  if (step < 1e9) return `${sign}${(size / 1e9).toFixed(1)} s`;
  if (step < 60e9) return `${sign}${Math.round(size / 1e9)} s`;
  if (step < 3600e9) return `${sign}${Math.round(size / 60e9)} min`;
  return `${sign}${Number((size / 3600e9).toFixed(1))} h`;
}

/**
 * Ticks of a view as {time, label}: before now if `relative`, times of day else. `zero` is now in ns since the origin,
 * `unix` turns such a time into Unix ns (BigInt).
 */
export function ticks(view, zero, unix, relative = view.follow) {
  const step = timeStep(view.perPixel * SPACING);
  const found = [];
  if (relative) {
    for (let time = zero; time >= view.from; time -= step) found.push({ time, label: relativeLabel(time - zero, step) });
    return found;
  }
  const zone = BigInt(new Date().getTimezoneOffset()) * -60_000_000_000n;
  const wide = BigInt(Math.max(1, Math.round(step)));
  const first = ((unix(view.from) + zone) / wide + 1n) * wide - zone;
  const offset = Number(first - unix(view.from));
  for (let time = view.from + offset; time <= view.to; time += step) found.push({ time, label: clockTime(unix(time), step) });
  return found;
}

/** Draws the labels; the grid under the lanes uses the same ticks. */
export function drawAxis(canvas, view, found, { theme, mark, unix }) {
  const height = 20;
  fit(canvas, view.width, height);
  const context = canvas.getContext("2d");
  const ratio = canvas.width / view.width;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, height);
  context.font = theme.font;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { time, label } of found) {
    const x = view.x(time);
    const half = context.measureText(label).width / 2;
    if (x - half < 0 || x + half > view.width) continue;
    context.fillStyle = label === "now" ? theme.text : theme.muted;
    context.fillText(label, x, height / 2);
  }
  if (mark !== null) drawMark(context, view, mark, { theme, unix, height });
}

function drawMark(context, view, mark, { theme, unix, height }) {
  const x = view.x(mark);
  const label = clockTime(unix(mark), 1e6);
  const half = context.measureText(label).width / 2 + 4;
  if (x < -half || x > view.width + half) return;
  context.fillStyle = theme.accent;
  context.fillRect(x - half, 2, half * 2, height - 4);
  context.fillStyle = theme.bg;
  context.fillText(label, x, height / 2);
}
