// Memory, utilisation and training metrics under the lanes, on the same axis of time.

import { niceStep } from "./arithmetic.js";
import { chartsOf } from "./chartgroups.js";
import { band, line } from "./curves.js";
import { el, fit, say } from "./dom.js";
import { reading } from "./format.js";
import { extentOfReadings, newestIn, readings, resample, summarize } from "./resample.js";
import { wordsOf } from "./words.js";

const HEIGHT = 58;
const INSET = 6;
const COLUMN = 3;
const MANY = 256;

/** Lowest and highest finite value of what is drawn; of nothing, Infinity and -Infinity. */
function extentOf(low, high) {
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < high.length; i++) {
    if (low[i] < least && low[i] !== -Infinity) least = low[i];
    if (high[i] > most && high[i] !== Infinity) most = high[i];
  }
  return [least, most];
}

class Chart {
  constructor() {
    this.head = el("div", { class: "row-head chart-head" });
    this.value = el("b");
    this.extent = el("div", { class: "chart-extent" });
    this.canvas = el("canvas", { role: "img" });
    this.element = el("div", { class: "chart" }, this.head, el("div", { class: "chart-value" }, this.value, this.extent), this.canvas);
  }

  /** `spec` as of `chartsOf`; draws what the view shows and says the newest value in view, or that under the cursor. */
  draw(spec, lines, { view, theme, grid, now, cursor }) {
    fit(this.canvas, view.width, HEIGHT);
    // Of very many lines fewer columns are summed up, or a thousand workers would hold a frame up each second.
    const wide = COLUMN * Math.ceil(lines.length / MANY);
    const step = view.perPixel * wide;
    // Columns stand at multiples of the step, so that a moving view does not make the line shiver.
    const from = Math.floor(view.from / step) * step;
    // A machine is sampled also after the run's end, which is not to be seen here.
    const seen = { from: view.from, to: Math.min(view.to, now) };
    const count = Math.max(1, Math.min(Math.ceil(view.width / wide) + 2, Math.floor((now - from) / step) + 1));
    const rows = lines.map((line) => resample(line, from, step, count, spec.gap));
    const { low, high, value } = summarize(rows, spec.how);
    const extent = extentOf(low, high);
    const range = this.#range(spec, extent);
    this.#say(spec, lines, cursor, seen, extentOfReadings(lines, seen, spec.gap) ?? extent);
    this.#paint({ low, high, value, x: (i) => view.x(from + i * step), range, theme, grid, view, now, cursor, spec, many: lines.length > 1 });
  }

  #say(spec, lines, cursor, seen, [least, most]) {
    const known = cursor === null ? newestIn(lines, seen, spec.gap) : readings(lines, Math.min(cursor, seen.to), spec.gap);
    const { value } = summarize(known.map((one) => [one]), spec.how);
    const text = known.length ? reading(value[0], spec.unit) : "–";
    say(this.value, text);
    say(this.head, spec.label);
    const extent = most >= least ? `${reading(least, spec.unit)} to ${reading(most, spec.unit)}` : "";
    say(this.extent, extent);
    this.canvas.setAttribute("aria-label", `${spec.label}: ${text}${extent && `, in view ${extent}`}`);
  }

  /** From zero to a round number above the highest, except for training metrics, which may lie anywhere. */
  #range(spec, [least, most]) {
    if (!(most >= least)) return [0, 1];
    if (spec.top) return [0, spec.top];
    if (!spec.training) return [0, niceStep(Math.max(most, 1e-9) * 1.05)];
    const room = (most - least) * 0.1 || Math.abs(most) * 0.1 || 1;
    return [least - room, most + room];
  }

  #paint({ low, high, value, x, range, theme, grid, view, now, cursor, spec, many }) {
    const context = this.canvas.getContext("2d");
    const ratio = this.canvas.width / view.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, HEIGHT);
    context.fillStyle = theme.line;
    for (const { time } of grid) context.fillRect(Math.round(view.x(time)), 0, 1, HEIGHT);
    const y = (one) => HEIGHT - INSET - ((one - range[0]) / (range[1] - range[0])) * (HEIGHT - INSET * 2);
    const colour = theme.kind(spec.kind);
    if (many) band(context, low, high, x, y, colour);
    line(context, value, x, y, colour);
    for (const [time, tint] of [[now, theme.accent], [cursor, theme.muted]]) {
      context.fillStyle = tint;
      if (time !== null && view.x(time) <= view.width) context.fillRect(Math.round(view.x(time)), 0, 1, HEIGHT);
    }
  }
}

export class Charts {
  constructor(container) {
    this.container = container;
    this.charts = new Map();
    this.stamp = null;
  }

  /** Whether drawing takes long enough to be left for when the view rests. */
  get heavy() {
    return (this.specs ?? []).reduce((sum, spec) => sum + spec.series.length, 0) > MANY;
  }

  draw(scene) {
    const { samples, lanes, structure } = scene.store;
    const words = wordsOf(scene.store);
    const stamp = `${samples.described}/${structure}/${words.worker}`;
    if (this.stamp !== stamp) this.#arrange(samples, lanes, words);
    this.stamp = stamp;
    for (const spec of this.specs) {
      const lines = spec.series.map(({ id }) => samples.lines.get(id)).filter((line) => line.count);
      const chart = this.charts.get(spec.key);
      chart.element.hidden = !lines.length;
      if (lines.length) chart.draw(spec, lines, scene);
    }
  }

  #arrange(samples, lanes, words) {
    this.specs = chartsOf(samples, lanes, words);
    for (const { key } of this.specs) if (!this.charts.has(key)) this.charts.set(key, new Chart());
    const elements = this.specs.map(({ key }) => this.charts.get(key).element);
    if (elements.some((element, i) => this.container.children[i] !== element) || elements.length !== this.container.children.length) {
      this.container.replaceChildren(...elements);
    }
  }
}
