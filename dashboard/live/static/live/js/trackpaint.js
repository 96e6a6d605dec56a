// Draws the chosen reading under its lanes, all on one scale, and says its value and its range in view.

import { niceStep } from "./arithmetic.js";
import { band, line } from "./curves.js";
import { reading } from "./format.js";
import { extentOfReadings, newestIn, readings, resample, summarize } from "./resample.js";
import { titleOf } from "./tracks.js";

const COLUMN = 3;
const MANY = 32;
const INSET = 4;
const GAP_NS = 15e9;

/** Lowest and highest finite value, or null of nothing. */
function extent(low, high) {
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < low.length; i++) {
    if (low[i] < least && Number.isFinite(low[i])) least = low[i];
    if (high[i] > most && Number.isFinite(high[i])) most = high[i];
  }
  return most >= least ? [least, most] : null;
}

/** From zero to a round number above all readings there were; whatever training code logs may lie anywhere. */
export function scaleOf({ source, unit }, extents, highest) {
  if (source !== "training") return [0, unit === "ratio" && !(highest > 1) ? 1 : niceStep(Math.max(highest, 1e-9) * 1.05)];
  const least = Math.min(...extents.map(([low]) => low));
  const most = Math.max(...extents.map(([, high]) => high));
  const room = (most - least) * 0.1 || Math.abs(most) * 0.1 || 1;
  return most >= least ? [least - room, most + room] : [0, 1];
}

/** Columns of a track in the view: {row, info, low, high, value, x, extent, now}; null before any reading. */
export function sampled(row, { store, view, cursor, now: time = Infinity }) {
  const lines = row.track.ids.map((id) => store.samples.lines.get(id)).filter((one) => one?.count);
  if (!lines.length) return null;
  const { info } = lines[0];
  const gap = info.source === "training" ? Infinity : GAP_NS;
  const wide = COLUMN * Math.ceil(lines.length / MANY);
  const step = view.perPixel * wide;
  const from = Math.floor(view.from / step) * step;
  const rows = lines.map((one) => resample(one, from, step, Math.ceil(view.width / wide) + 2, gap));
  const summed = summarize(rows, "median");
  // Where no reading counts in view, what is drawn is told.
  const seen = { from: view.from, to: Math.min(view.to, time) };
  const [least, most] = extentOfReadings(lines, seen, gap) ?? [];
  const told = extent([least], [most]);
  const now = summarize((cursor === null ? newestIn(lines, seen, gap) : readings(lines, cursor, gap)).map((one) => [one]), "median").value[0];
  return { row, info, ...summed, x: (i) => view.x(from + i * step), extent: told ?? extent(summed.low, summed.high), now, many: lines.length > 1 };
}

/** The texts of a track: {label, value, range, title}. */
export function words({ row, info, now, extent: range, many }) {
  const label = titleOf(info);
  const value = now === undefined ? "–" : reading(now, info.unit);
  const told = range ? `${reading(range[0], info.unit)} to ${reading(range[1], info.unit)}` : "";
  const whose = many ? `${row.track.of}, median of ${row.track.ids.length}` : row.track.of;
  return { label, value, range: told, title: `${label} of ${whose}: ${value}${told && `, in view ${told}`}` };
}

/** Draws the tracks in sight on the overlay; returns the texts by row. */
export function drawTracks(context, rows, scene) {
  const { store, theme, top } = scene;
  const found = rows.map((row) => sampled(row, scene)).filter(Boolean);
  if (!found.length) return new Map();
  const highest = store.samples.peak([...store.samples.lines].filter(([, one]) => one.count && one.info.metric === found[0].info.metric).map(([id]) => id));
  const [least, most] = scaleOf(found[0].info, found.map((one) => one.extent).filter(Boolean), highest);
  const colour = theme.kind("encode");
  for (const { row, low, high, value, x, many } of found) {
    const bottom = row.y - top + row.height - INSET;
    const y = (one) => bottom - ((one - least) / (most - least)) * (row.height - INSET * 2);
    if (many) band(context, low, high, x, y, colour);
    line(context, value, x, y, colour);
    context.fillStyle = theme.line;
    context.fillRect(0, row.y - top + row.height - 1, scene.view.width, 1);
  }
  return new Map(found.map((one) => [one.row, words(one)]));
}
