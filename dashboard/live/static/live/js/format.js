// Figures as people read them: always with a unit, never more digits than mean something.

const SPACE = "\u00a0";
const two = (value) => String(value).padStart(2, "0");

/** A duration given in ns. */
export function duration(ns) {
  if (!Number.isFinite(ns)) return "–";
  const seconds = ns / 1e9;
  const size = Math.abs(seconds);
  if (size < 0.9995e-3) return `${Math.round(ns / 1e3)}${SPACE}µs`;
  if (size < 0.9995) return `${(seconds * 1e3).toFixed(size < 0.01 ? 1 : 0)}${SPACE}ms`;
  if (size < 9.995) return `${seconds.toFixed(2)}${SPACE}s`;
  if (size < 99.95) return `${seconds.toFixed(1)}${SPACE}s`;
  const whole = Math.round(size);
  if (whole < 3600) return `${Math.floor(whole / 60)}${SPACE}min${SPACE}${two(whole % 60)}${SPACE}s`;
  return `${Math.floor(whole / 3600)}${SPACE}h${SPACE}${two(Math.floor((whole % 3600) / 60))}${SPACE}min`;
}

/** How old something is, or how long a run took (ns): in whole seconds, for tenths mean nothing there. */
export function age(ns) {
  if (!(ns >= 1e9)) return `<${SPACE}1${SPACE}s`;
  if (ns < 100e9) return `${Math.floor(ns / 1e9)}${SPACE}s`;
  const hours = Math.floor(Math.round(ns / 1e9) / 3600);
  return hours < 24 ? duration(ns) : `${Math.floor(hours / 24)}${SPACE}d${SPACE}${two(hours % 24)}${SPACE}h`;
}

export function share(value) {
  return Number.isFinite(value) ? `${Math.round(value * 100)}${SPACE}%` : "–";
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  let power = 0;
  while (Math.abs(value) >= 1024 && power < BINARY.length - 1) {
    value /= 1024;
    power += 1;
  }
  return `${value.toFixed(power && value < 100 ? 1 : 0)}${SPACE}${BINARY[power]}`;
}

export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 4 : 3 });
}

const SIGNS = { cpus: "CPUs", watts: "W", celsius: "°C", "%": "%", percent: "%" };

function frequency(value) {
  return value >= 1e9 ? `${(value / 1e9).toFixed(2)}${SPACE}GHz` : `${Math.round(value / 1e6)}${SPACE}MHz`;
}

/** A reading with its unit as the agents name it. */
export function reading(value, unit) {
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes/s") return `${bytes(value)}/s`;
  if (unit === "ratio") return share(value);
  if (unit === "seconds" || unit === "s") return duration(value * 1e9);
  if (unit === "hertz") return frequency(value);
  return unit ? `${number(value)}${SPACE}${SIGNS[unit] ?? unit}` : number(value);
}

/** Time of day in this browser's zone, with as many decimals as `step` (ns) calls for. */
export function clockTime(unixNs, step = 1e8) {
  const ms = Number(unixNs / 1_000_000n);
  const date = new Date(ms);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (step >= 1e9) return text;
  const digits = Math.min(6, Math.max(1, Math.ceil(9 - Math.log10(step))));
  const micros = Number((unixNs / 1000n) % 1_000_000n);
  return `${text}.${String(micros).padStart(6, "0").slice(0, digits)}`;
}

/** Date and time of day in this browser's zone, to the second. */
export function dayTime(unixNs) {
  const date = new Date(Number(unixNs / 1_000_000n));
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clockTime(unixNs, 1e9)}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

const TURNS = /[\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f]/g;

// U+2800, the empty pattern of Braille, is the one symbol without ink.
const SEEN = /[^\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** A name without marks of direction; "(invisible)" where nothing of it can be seen, and "" where there is none. */
export function legible(name) {
  const seen = (name ?? "").replace(TURNS, "");
  return !name || /^[!-~]/.test(name) || SEEN.test(seen) ? seen : "(invisible)";
}

/** A name amid other words: what it holds of writing from right to left turns nothing around it. */
export function isolated(name) {
  return !name || /^[!-~][ -~]*$/.test(name) ? name ?? "" : `\u2068${legible(name)}\u2069`;
}

/** Names in order as people count: host-2 before host-10. */
export const natural = new Intl.Collator("en", { numeric: true }).compare;
