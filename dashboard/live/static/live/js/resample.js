// Readings taken at different times, brought to common times and summed up over workers.

const MOST_READINGS = 20_000;

/**
 * Values of a line at `from + i * step`, joined linearly where readings are at most `gap` apart. Elsewhere NaN, but for
 * one step after a reading, so that it shows even where it is alone.
 */
export function resample(line, from, step, count, gap, out = new Float64Array(count)) {
  const { times, values } = line;
  let at = Math.max(0, line.indexAt(from));
  for (let i = 0; i < count; i++) {
    const time = from + i * step;
    while (at + 1 < line.count && times[at + 1] <= time) at += 1;
    out[i] = between(times, values, at, line.count, time, line.reach(at, gap), step);
  }
  return out;
}

function between(times, values, at, count, time, gap, step) {
  if (!count || times[at] > time) return NaN;
  if (times[at] === time) return values[at];
  if (at + 1 >= count || times[at + 1] - times[at] > gap) return time - times[at] < step ? values[at] : NaN;
  return values[at] + ((values[at + 1] - values[at]) * (time - times[at])) / (times[at + 1] - times[at]);
}

/** The reading of each line at a time, or its newest where that is null; none where it had been silent for `gap`. */
export function readings(lines, time, gap) {
  const found = [];
  for (const line of lines) {
    const at = time === null ? line.count - 1 : line.indexAt(time);
    if (at >= 0 && (time === null || time - line.times[at] <= line.reach(at, gap))) found.push(line.values[at]);
  }
  return found;
}

/** Sums up rows of equal length, column by column: {low, high, value}, value being the median or the highest. */
export function summarize(rows, how) {
  const count = rows[0]?.length ?? 0;
  const [low, high, value] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  const column = new Float64Array(rows.length);
  for (let i = 0; i < count; i++) {
    let filled = 0;
    for (const row of rows) if (!Number.isNaN(row[i])) column[filled++] = row[i];
    const known = column.subarray(0, filled).sort();
    low[i] = filled ? known[0] : NaN;
    high[i] = filled ? known[filled - 1] : NaN;
    value[i] = how === "highest" ? high[i] : (known[(filled - 1) >> 1] + known[filled >> 1]) / 2;
  }
  return { low, high, value };
}

/** Index of the first reading that counts in view: that of before, where it reaches into it. */
function firstIn(line, { from }, gap) {
  const before = line.indexAt(from);
  return before >= 0 && from - line.times[before] <= line.reach(before, gap) ? before : before + 1;
}

/** The newest reading of each line that has one in view. */
export function newestIn(lines, view, gap) {
  const last = lines.map((line) => [line, line.indexAt(view.to)]);
  return last.filter(([line, at]) => at >= firstIn(line, view, gap)).map(([line, at]) => line.values[at]);
}

/** Lowest and highest reading that counts in view, or null where there are too many to look at each. */
export function extentOfReadings(lines, view, gap) {
  const ranges = lines.map((line) => [line, firstIn(line, view, gap), line.indexAt(view.to)]);
  if (ranges.reduce((sum, [, first, last]) => sum + last - first, 0) > MOST_READINGS) return null;
  let [least, most] = [Infinity, -Infinity];
  for (const [{ values }, first, last] of ranges) {
    for (let i = first; i <= last; i++) {
      if (values[i] < least && values[i] !== -Infinity) least = values[i];
      if (values[i] > most && values[i] !== Infinity) most = values[i];
    }
  }
  return [least, most];
}
