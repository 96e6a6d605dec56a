// Draws the lanes: one row of pixels for each, stretched to the lane's height without smoothing.

import { fit } from "./dom.js";
import { rowsInSight } from "./measure.js";
import { Raster } from "./raster.js";
import { pixel } from "./theme.js";

// Bars from this many CSS pixels on are handed to the overlay, to be parted from their neighbours and named.
const WIDE = 6;
const PARTED_FROM = 12;

export class Strip {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.store = document.createElement("canvas");
    this.image = null;
  }

  /**
   * Draws the rows between `top` and `top + height` of a layout; returns the bars that deserve more, in CSS pixels:
   * {lane, open, index, rank, x0, x1, y, height}.
   */
  draw({ view, layout, top, height, theme, phases, selected, grid }) {
    fit(this.canvas, view.width, height);
    const ratio = this.canvas.width / view.width;
    const rows = [...rowsInSight(layout, { top, height })].filter((row) => row.kind === "lane");
    const raster = this.#rasterize({ rows, view, theme, phases, selected, ratio, layout });
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.#grid(grid, view, theme, ratio);
    this.#stretch(rows, layout, top, theme, ratio);
    return raster.wide.map((bar) => this.#placed(bar, rows[bar.row], layout, top, ratio));
  }

  #rasterize({ rows, view, theme, phases, selected, ratio, layout }) {
    const width = this.canvas.width;
    const height = Math.max(1, rows.length);
    if (this.image?.width !== width || this.image.height !== height) {
      this.store.width = width;
      this.store.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const raster = new Raster(width, {
      from: view.from,
      perPixel: (view.to - view.from) / width,
      colours: theme.phasePixels(phases),
      failed: pixel(theme.bad),
      waiting: pixel(theme.kind("wait")),
      minimum: layout.bar >= PARTED_FROM ? WIDE * ratio : Infinity,
      selected,
    });
    rows.forEach((row, i) => raster.row(row.lane, this.pixels.subarray(i * width, (i + 1) * width), i));
    this.store.getContext("2d").putImageData(this.image, 0, 0);
    return raster;
  }

  #grid(grid, view, theme, ratio) {
    this.context.fillStyle = theme.line;
    for (const { time } of grid) this.context.fillRect(Math.round(view.x(time) * ratio), 0, 1, this.canvas.height);
  }

  #stretch(rows, layout, top, theme, ratio) {
    const { context, store } = this;
    context.imageSmoothingEnabled = false;
    const width = this.canvas.width;
    for (let i = 0; i < rows.length; ) {
      const row = rows[i];
      let count = 1;
      // Lanes without room between them are stretched at once.
      while (row.height === layout.bar && rows[i + count] && rows[i + count].y === row.y + count * row.height) count += 1;
      const y = Math.round((row.y - top + (row.height - layout.bar) / 2) * ratio);
      const high = Math.max(1, Math.round(layout.bar * ratio)) * count;
      if (layout.density === "comfortable") {
        context.fillStyle = theme.line;
        context.fillRect(0, Math.round((row.y + row.height - top) * ratio) - 1, width, 1);
      }
      context.drawImage(store, 0, i, width, count, 0, y, width, high);
      i += count;
    }
  }

  #placed(bar, row, layout, top, ratio) {
    const y = row.y - top + (row.height - layout.bar) / 2;
    return { ...bar, lane: row.lane, x0: bar.x0 / ratio, x1: bar.x1 / ratio, y, height: layout.bar };
  }
}
