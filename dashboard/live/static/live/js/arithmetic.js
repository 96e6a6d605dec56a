// Small arithmetic that several figures share.

/** Middle of the finite values (mean of both middles); NaN without one. */
export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (!sorted.length) return NaN;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function mean(values) {
  const finite = values.filter(Number.isFinite);
  return finite.length ? finite.reduce((sum, value) => sum + value, 0) / finite.length : NaN;
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** A round number (1, 2 or 5 times a power of ten) of at least `value`. */
export function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value * 0.999999) * power;
}

/** Time steps for an axis, in ns: 1-2-5 below a second, then seconds, minutes, hours as clocks have them. */
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

export function timeStep(ns) {
  if (ns <= 1e9) return niceStep(ns);
  return (CLOCK_STEPS.find((step) => step * 1e9 >= ns) ?? niceStep(ns / 86400e9) * 86400) * 1e9;
}
