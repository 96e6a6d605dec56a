// The page's colours as numbers: read from the style sheet's tokens, so that canvas and page never differ.

import { KINDS } from "./frames.js";

const NAMES = ["bg", "panel", "raised", "line", "text", "muted", "accent", "bad", "warn", "good"];
const PHASES = 1 << 16;

/** Channels 0..255 of a colour written as #rrggbb or rgb(). */
export function channels(colour) {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour.trim());
  if (hex) return [0, 2, 4].map((i) => parseInt(hex[1].slice(i, i + 2), 16));
  return (colour.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);
}

/** A colour as one opaque pixel of a little-endian RGBA image. */
export function pixel(colour) {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Relative luminance, as WCAG 2 defines it. */
export function luminance(colour) {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const DARK_INK = "#000000";
const LIGHT_INK = "#ffffff";
const READABLE = 4.5;

/** White where it can be read well on a colour, else black: one of both always can. */
export function inkOn(colour) {
  return 1.05 / (luminance(colour) + 0.05) >= READABLE ? LIGHT_INK : DARK_INK;
}

function mixed(one, other) {
  const [a, b] = [channels(one), channels(other)];
  return `rgb(${a.map((value, i) => Math.round((value + b[i]) / 2)).join(", ")})`;
}

export class Theme {
  constructor(root, changed) {
    this.root = root;
    this.read();
    const again = () => {
      this.read();
      changed();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  read() {
    const style = getComputedStyle(this.root);
    const token = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of NAMES) this[name] = token(name);
    this.slow = mixed(this.warn, this.text);
    this.kinds = KINDS.map((kind) => token(`kind-${kind}`));
    this.inks = this.kinds.map((colour, i) => (KINDS[i] === "wait" ? this.text : inkOn(colour)));
    this.font = `11px ${token("font") || "system-ui, sans-serif"}`;
    this.pixels = null;
  }

  kind(name) {
    return this.kinds[KINDS.indexOf(name)] ?? this.kinds.at(-1);
  }

  ink(name) {
    return this.inks[KINDS.indexOf(name)] ?? this.inks.at(-1);
  }

  /** Pixels by phase number for the raster. */
  phasePixels(phases) {
    if (this.pixels && this.known === phases.length) return this.pixels;
    this.pixels = new Uint32Array(PHASES).fill(pixel(this.kind("other")));
    phases.forEach((phase, index) => (this.pixels[index] = pixel(this.kind(phase.kind))));
    this.known = phases.length;
    return this.pixels;
  }
}
