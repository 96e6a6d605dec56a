// The stretch of the common axis that all rounds show: how it is panned and zoomed, and where its ticks are.

const CLOSEST = 1e-5;

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

/** The stretch {from, span} held within 0 and `all`. */
function within({ from, span }, all) {
  const held = clamp(span, all * CLOSEST, all);
  return { from: clamp(from, 0, all - held), span: held };
}

/** Moved by a share of what it shows. */
export const panned = ({ from, span }, share, all) => within({ from: from + span * share, span }, all);

/** Shows `factor` times as much, with what is at `anchor` (0 to 1 of its width) staying there. */
export function zoomed({ from, span }, factor, anchor, all) {
  const next = clamp(span * factor, all * CLOSEST, all);
  return within({ from: from + (span - next) * anchor, span: next }, all);
}

/** Milliseconds from the round's begin in seconds, as fine as the stretch needs. */
export function tickText(ms, span) {
  const digits = clamp(Math.ceil(-Math.log10(span / 1000)) + 1, 0, 6);
  return `${(ms / 1000).toFixed(digits)}\u00a0s`;
}

const MOST_STEPS = 6;

/** Ticks of a stretch at round seconds (1, 2, 5 times a power of ten): [{x in percent of it, text}]. */
export function ticks({ from, span }) {
  const least = span / 1000 / MOST_STEPS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9));
  const digits = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 9);
  const found = [];
  for (let at = Math.ceil(from / 1000 / step - 1e-9); at * step * 1000 <= (from + span) * (1 + 1e-9); at += 1) {
    found.push({ x: clamp((100 * (at * step * 1000 - from)) / span, 0, 100), text: `${(at * step).toFixed(digits)}\u00a0s` });
  }
  return found;
}

// What keys do: [share to pan] or [factor to zoom]; 0 shows all.
const PANS = { a: -0.15, d: 0.15, ArrowLeft: -0.15, ArrowRight: 0.15 };
const ZOOMS = { w: 0.8, s: 1.25, "+": 0.8, "-": 1.25 };

/** The stretch after a key, or null where the key does nothing. */
export function afterKey(view, key, all) {
  const name = key.length === 1 ? key.toLowerCase() : key;
  if (name === "0") return { from: 0, span: all };
  if (Object.hasOwn(PANS, name)) return panned(view, PANS[name], all);
  return Object.hasOwn(ZOOMS, name) ? zoomed(view, ZOOMS[name], 0.5, all) : null;
}
