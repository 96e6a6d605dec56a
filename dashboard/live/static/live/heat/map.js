// The map itself: one pixel for each cell, drawn large; a cursor that pointer and keys move.

import { clamp } from "../js/arithmetic.js";
import { fit } from "../js/dom.js";
import { legible } from "../js/format.js";
import { colourOf, scaleOf } from "./figures.js";

const GUTTER = 120;
const AXIS = 20;
const TALLEST = 22;
const LOW = 2;
const WIDEST = 480;
const ROOM = 640;
const LABELLED = 11;
const APART = 34;

/** How large cells are in a width of some px: {gutter, cell: [width, height]}. */
export function sizes(workers, rounds, width) {
  const gutter = Math.min(GUTTER, width / 3);
  return { gutter, cell: [Math.min(WIDEST, (width - gutter) / Math.max(1, rounds)), clamp(Math.floor(ROOM / Math.max(1, workers)), LOW, TALLEST)] };
}

/** The cell under a point of the canvas: {row, column} as they are drawn, or null. */
export function cellAt({ gutter, cell: [width, height] }, { workers, rounds }, x, y) {
  const [column, row] = [Math.floor((x - gutter) / width), Math.floor(y / height)];
  return x >= gutter && column < rounds.length && row >= 0 && row < workers.length ? { row, column } : null;
}

/** The frame around a cell, 2 px wide, no part of which lies beyond a canvas of that size: [left, top, width, height]. */
export function frameOf({ row, column }, { gutter, cell: [width, height] }, [wide, high]) {
  const [left, top] = [Math.max(1, gutter + column * width - 1), Math.max(1, row * height - 1)];
  return [left, top, Math.min(wide - 1, gutter + (column + 1) * width + 1) - left, Math.min(high - 1, (row + 1) * height + 1) - top];
}

/** Where a key leads from a cell; null where it leads nowhere. */
export function moved({ row, column }, key, { workers, rounds }) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] };
  if (!Object.hasOwn(steps, key)) return null;
  const [down, right] = steps[key];
  return { row: clamp(row + down, 0, workers.length - 1), column: clamp(column + right, 0, rounds.length - 1) };
}

export class HeatMap {
  /** `on.cell(cell, byKey)`: a cell is pointed at (null: none) or was gone to; `on.open(cell)`: it was chosen. */
  constructor({ cells, axis, scroll }, on) {
    Object.assign(this, { cells, axis, scroll, on, cursor: { row: 0, column: 0 } });
    cells.addEventListener("pointermove", (event) => on.cell(this.#under(event), false));
    cells.addEventListener("pointerleave", () => on.cell(null, false));
    cells.addEventListener("click", (event) => this.#under(event) && this.#go(this.#under(event), false));
    cells.addEventListener("dblclick", (event) => this.#under(event) && on.open(this.#under(event)));
    cells.addEventListener("keydown", (event) => this.#key(event));
    cells.addEventListener("focus", () => on.cell(this.cursor, true));
  }

  draw(figures, order, colours) {
    Object.assign(this, { figures, order, colours });
    const width = this.scroll.clientWidth;
    this.sizes = sizes(figures.workers.length, figures.rounds.length, width);
    const [, height] = this.sizes.cell;
    this.cursor = { row: clamp(this.cursor.row, 0, figures.workers.length - 1), column: clamp(this.cursor.column, 0, figures.rounds.length - 1) };
    this.#raster();
    fit(this.cells, width, Math.max(1, height * figures.workers.length));
    fit(this.axis, width, AXIS);
    this.#paint();
    this.#rounds(width);
  }

  #under({ offsetX: x, offsetY: y }) {
    return this.figures && cellAt(this.sizes, this.figures, x, y);
  }

  #key(event) {
    if (!this.figures || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") return this.on.open(this.cursor);
    const next = moved(this.cursor, event.key, this.figures);
    if (!next) return;
    event.preventDefault();
    this.#go(next, true);
  }

  #go(cell, byKey) {
    this.cursor = cell;
    const [, height] = this.sizes.cell;
    const top = cell.row * height;
    const { scroll } = this;
    if (byKey) scroll.scrollTop = clamp(scroll.scrollTop, top + height - scroll.clientHeight, top);
    this.#paint();
    this.on.cell(cell, true);
  }

  /** One pixel for each cell; what has no figure stays clear. */
  #raster() {
    const { figures, order } = this;
    const scale = scaleOf(this.colours);
    const image = new ImageData(Math.max(1, figures.rounds.length), Math.max(1, order.length));
    order.forEach((place, row) => figures.rounds.forEach((_, column) => {
      const colour = colourOf(figures.shade(place, column), scale);
      if (colour) image.data.set([...colour, 255], 4 * (row * figures.rounds.length + column));
    }));
    this.raster = new OffscreenCanvas(image.width, image.height);
    this.raster.getContext("2d").putImageData(image, 0, 0);
  }

  #paint() {
    const { figures, order, colours, cursor } = this;
    const { gutter, cell: [width, height] } = this.sizes;
    const context = this.#context(this.cells);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.raster, gutter, 0, width * figures.rounds.length, height * order.length);
    context.fillStyle = colours.text;
    context.textBaseline = "middle";
    if (height >= LABELLED) order.forEach((place, row) => context.fillText(legible(figures.workers[place]), 2, (row + 0.5) * height, gutter - 8));
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(...frameOf(cursor, this.sizes, [parseFloat(this.cells.style.width), parseFloat(this.cells.style.height)]));
  }

  #rounds(width) {
    const { figures, colours } = this;
    const { gutter, cell: [wide] } = this.sizes;
    const context = this.#context(this.axis);
    context.clearRect(0, 0, width, AXIS);
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const every = [1, 2, 5, 10, 20, 50, 100, 200].find((step) => step * wide >= APART) ?? 500;
    figures.rounds.forEach((index, column) => {
      if (index % every === 0) context.fillText(String(index), gutter + (column + 0.5) * wide, AXIS / 2);
    });
  }

  #context(canvas) {
    const context = canvas.getContext("2d");
    const ratio = canvas.width / parseFloat(canvas.style.width);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.font = this.colours.font;
    return context;
  }
}
