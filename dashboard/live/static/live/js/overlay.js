// Draws what lies over the bars: their names, hatches, findings, gaps, the selection and the line of now.

import { fit } from "./dom.js";
import { FLAG } from "./frames.js";
import { duration, isolated } from "./format.js";
import { drawInstants } from "./instants.js";
import { RANK } from "./raster.js";

const LABELLED = 24;
const PADDING = 5;
const FRAMED = 6;

/** Diagonal lines as a pattern. */
function hatch(context, colour, gap, width) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = gap;
  const brush = tile.getContext("2d");
  brush.strokeStyle = colour;
  brush.lineWidth = width;
  for (const shift of [-gap, 0, gap]) {
    brush.beginPath();
    brush.moveTo(shift, gap);
    brush.lineTo(shift + gap, 0);
    brush.stroke();
  }
  return context.createPattern(tile, "repeat");
}

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.widths = new Map();
  }

  /** `scene`: view, height, theme, store, bars (of the strip), hover, selected, now, mark, area, cursor. */
  draw(scene) {
    const { view, height, theme } = scene;
    fit(this.canvas, view.width, height);
    const ratio = this.canvas.width / view.width;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, view.width, height);
    this.context.font = theme.font;
    this.context.textBaseline = "middle";
    this.#patterns(theme);
    this.#unloaded(scene);
    for (const bar of scene.bars) this.#bar(bar, scene);
    for (const bar of scene.bars) this.#frame(bar, scene);
    for (const place of scene.gaps) this.#gap(place, theme);
    drawInstants(this.context, scene.instants, scene);
    this.#verticals(scene);
  }

  #patterns(theme) {
    if (this.themed === theme.bg) return;
    this.themed = theme.bg;
    this.openHatch = hatch(this.context, `${theme.bg}70`, 7, 2.2);
    this.staleHatch = hatch(this.context, `${theme.bg}c0`, 5, 2.4);
    this.failedHatch = hatch(this.context, `${theme.bg}90`, 6, 1.6);
    this.gapHatch = hatch(this.context, theme.bad, 5, 1);
    this.olderHatch = hatch(this.context, `${theme.muted}30`, 9, 1);
    this.waitHatch = hatch(this.context, `${theme.muted}80`, 6, 1.2);
  }

  /** The time whose phases have not come yet must not look as if nothing had happened in it. */
  #unloaded({ view, height, store, theme }) {
    const [x0, x1] = [Math.max(0, view.x(store.begun)), Math.min(view.width, view.x(store.earliest))];
    if (!(x1 - x0 > 1)) return;
    this.#fill(this.olderHatch, x0, x1, { y: 0, height });
    if (x1 - x0 < 200 || height < 16) return;
    this.context.fillStyle = theme.muted;
    this.context.fillText("loading older phases", x0 + PADDING * 2, Math.min(height, 22) / 2);
  }

  #bar(bar, { view, theme, store }) {
    const x0 = Math.max(0, bar.x0);
    const x1 = Math.min(view.width, bar.x1);
    if (x1 <= x0) return;
    const { phase, flags } = this.#facts(bar, store);
    const failed = flags & (FLAG.ERROR | FLAG.ABORTED);
    if (bar.open && bar.height >= 3) this.#fill(bar.open.stale ? this.staleHatch : this.openHatch, x0, x1, bar);
    else if (flags & FLAG.NESTED) this.#fill(failed ? theme.bad : theme.kind(phase.kind), x0, x1, bar);
    const moved = this.#wait(bar, x0, x1, view, theme);
    if (failed && bar.height >= 3) this.#fill(this.failedHatch, x0, x1, bar);
    this.context.fillStyle = theme.bg;
    if (bar.height >= 12 && bar.x0 >= 0 && x1 - x0 >= 3) this.context.fillRect(Math.round(bar.x0) - 0.5, bar.y, 1, bar.height);
    if (bar.height < 12 || x1 - moved < LABELLED) return;
    const ink = failed ? theme.bg : theme.ink(phase.kind);
    const ground = failed ? theme.bad : bar.open ? theme.kind(phase.kind) : null;
    this.#label(this.#text(bar, phase, store), moved + PADDING, x1 - PADDING, bar, { ink, ground });
  }

  /** What of a collective its rank only waited, apart from what it moved; returns where that begins. */
  #wait(bar, x0, x1, view, theme) {
    const waited = bar.open ? 0 : bar.lane.spans.wait[bar.index];
    if (!(waited > 0) || bar.height < 3) return x0;
    const moved = Math.min(x1, Math.max(x0, bar.x0 + waited / view.perPixel));
    this.#fill(theme.kind("wait"), x0, moved, bar);
    this.#fill(this.waitHatch, x0, moved, bar);
    if (bar.height >= 12 && moved - x0 >= LABELLED) {
      this.#label(["waits", `waits ${duration(waited)}`], x0 + PADDING, moved - PADDING, bar, { ink: theme.ink("wait"), ground: theme.kind("wait") });
    }
    return moved;
  }

  #fill(pattern, x0, x1, bar) {
    this.context.fillStyle = pattern;
    this.context.fillRect(x0, bar.y, x1 - x0, bar.height);
  }

  #facts({ lane, open, index }, store) {
    if (open) return { phase: store.phase(open.phase), flags: open.flags, attempt: open.attempt, id: open.id };
    const { spans } = lane;
    return { phase: store.phase(spans.phase[index]), flags: spans.flags[index], attempt: spans.attempt[index], id: spans.id[index] };
  }

  #text(bar, phase, store) {
    const { attempt, id, flags } = this.#facts(bar, store);
    const name = isolated(phase.name);
    if (!(flags & FLAG.SLOW)) return [name];
    const took = bar.open ? bar.open.end - bar.open.start : bar.lane.spans.end[bar.index] - bar.lane.spans.start[bar.index];
    const ratio = store.marks.comparison(attempt, id, store.lanes)?.ratio;
    const timed = `${name} ${duration(took)}`;
    return [name, timed, ratio ? `${timed} · ${ratio.toFixed(1)} ×` : timed];
  }

  /** The longest of several texts that fits, else as much of the shortest as does; on plain ground where there is a hatch. */
  #label(texts, left, right, bar, { ink, ground }) {
    const room = right - left;
    let text = texts.findLast((candidate) => this.#width(candidate) <= room);
    text ??= this.#cut(texts[0], room);
    if (!text) return;
    if (ground) this.#fill(ground, left - 2, left + this.#width(text) + 3, { ...bar, y: bar.y + 2, height: bar.height - 4 });
    this.context.fillStyle = ink;
    this.context.fillText(text, left, bar.y + bar.height / 2 + 0.5);
  }

  /** As much of a text as there is room for, by whole characters; "" for less than three. */
  #cut(text, room) {
    const characters = [...text];
    let kept = Math.floor((characters.length * room) / this.#width(text));
    for (; kept >= 3; kept--) {
      const cut = `${characters.slice(0, kept).join("")}…`;
      if (this.#width(cut) <= room) return cut;
    }
    return "";
  }

  #width(text) {
    if (!this.widths.has(text)) {
      if (this.widths.size > 5000) this.widths.clear();
      this.widths.set(text, this.context.measureText(text).width);
    }
    return this.widths.get(text);
  }

  /** Outlines lie over all bars, so that no neighbour hides them; of narrow slow ones the top alone, or many were one block. */
  #frame(bar, { view, theme, store, hover, selected }) {
    const { attempt, id } = this.#facts(bar, store);
    const is = (other) => other && other.attempt === attempt && other.id === id;
    const colour = is(selected) ? theme.accent : is(hover) ? theme.text : bar.rank === RANK.SLOW ? theme.slow : null;
    if (!colour || bar.x1 < 0 || bar.x0 > view.width || bar.height < 3) return;
    const x0 = Math.max(-4, bar.x0);
    const x1 = Math.max(x0 + 2, Math.min(view.width + 4, bar.x1));
    this.context.strokeStyle = colour;
    if (colour === theme.slow && x1 - x0 < FRAMED) return this.#fill(colour, x0, x1, { y: bar.y, height: 2 });
    this.context.lineWidth = is(selected) ? 2 : 1.5;
    this.context.strokeRect(x0 + 0.5, bar.y + 0.5, x1 - x0 - 1, bar.height - 1);
  }

  #gap({ x0, x1, y, height }, theme) {
    this.#fill(this.gapHatch, x0, Math.max(x0 + 2, x1), { y, height });
    this.context.strokeStyle = theme.bad;
    this.context.lineWidth = 1;
    this.context.strokeRect(x0 + 0.5, y + 0.5, Math.max(2, x1 - x0) - 1, height - 1);
  }

  #verticals({ view, height, theme, now, mark, cursor, area }) {
    if (area) {
      this.context.fillStyle = `${theme.accent}2e`;
      this.context.fillRect(view.x(area.from), area.top, view.x(area.to) - view.x(area.from), area.bottom - area.top);
    }
    this.#line(view.x(now), height, theme.accent, 1.5, []);
    if (mark !== null) this.#line(view.x(mark), height, theme.accent, 1, [4, 3]);
    if (cursor !== null) this.#line(view.x(cursor), height, `${theme.muted}80`, 1, []);
  }

  #line(x, height, colour, width, dash) {
    if (!(x >= 0 && x <= this.canvas.width)) return;
    this.context.save();
    this.context.setLineDash(dash);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.moveTo(Math.round(x) + 0.5, 0);
    this.context.lineTo(Math.round(x) + 0.5, height);
    this.context.stroke();
    this.context.restore();
  }
}
