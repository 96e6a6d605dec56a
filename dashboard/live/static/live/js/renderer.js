// One frame of the page: a dirty flag, one animation frame, and each layer drawn only when it must be.

import { Mirror } from "./aria.js";
import { drawAxis, ticks } from "./axis.js";
import { Charts } from "./charts.js";
import { Heads } from "./heads.js";
import { gapsInSight, instantsInSight, measure, rowsInSight } from "./measure.js";
import { Overlay } from "./overlay.js";
import { Strip } from "./strip.js";
import { Table } from "./table.js";
import { drawTracks } from "./trackpaint.js";

const WORDS_MS = 250;
const MIRROR_MS = 1000;
const TABLE_MS = 500;
const REST_MS = 120;
const CALM_MS = 1000;

export class Renderer {
  /** `words(now)` writes what is text (header, panel, toolbar); `drawn()` is called when a frame is on screen. */
  constructor(page, theme, { actions, words, drawn, roundStrip }) {
    Object.assign(this, { page, theme, words, drawn, roundStrip, bars: [], grid: [], tracks: new Map() });
    Object.assign(this, { dirty: true, over: false, touched: 0, wordsAt: -Infinity, mirrorAt: -Infinity, movedAt: -Infinity, chartsAt: -Infinity, tableAt: -Infinity });
    const { elements } = page;
    this.strip = new Strip(elements.strip);
    this.overlay = new Overlay(elements.overlay);
    this.heads = new Heads(elements.heads, { pin: (lane) => actions.pin(lane) });
    this.charts = new Charts(elements.charts);
    this.table = new Table(elements.table, { pick: (selection) => actions.select(selection) });
    this.mirror = new Mirror(elements.grid, elements.mirror, elements.live);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.frame = this.frame.bind(this);
    requestAnimationFrame(this.frame);
  }

  /** Something changed: `touched` by the person, so that words follow at once, or by what came from the server. */
  invalidate(touched = false) {
    this.dirty = true;
    if (!touched) return;
    this.touched = performance.now();
    this.wordsAt = -Infinity;
  }

  hovered() {
    this.over = true;
  }

  frame(time) {
    requestAnimationFrame(this.frame);
    const now = this.page.now();
    if (this.#moves(now, time) || this.#chartsAreDue(time)) this.dirty = true;
    if (this.dirty) this.#draw(now, time);
    else if (this.over) this.#hover(now);
    if (time - this.wordsAt >= WORDS_MS) {
      this.wordsAt = time;
      this.words(now);
      if (time - this.mirrorAt >= MIRROR_MS && this.page.ui.show === "lanes") this.#mirror(time);
    }
    this.drawn();
  }

  /** Whether time alone has changed what is seen by a pixel; for people who want calm, at most once a second. */
  #moves(now, time) {
    if (this.still.matches && time - this.movedAt < CALM_MS) return false;
    const { page } = this;
    const { view, store } = page;
    const moved = view.advance({ now, ended: page.ended, earliest: store.begun, rounds: store.rounds.list() });
    const grown = !page.ended && view.x(this.now) < view.width && now - this.now >= view.perPixel;
    if (moved || grown) this.movedAt = time;
    return moved || grown;
  }

  #chartsAreDue(time) {
    return this.chartsAt < this.touched && time - this.touched > REST_MS && this.charts.heavy;
  }

  #draw(now, time) {
    const { page, theme } = this;
    const { elements, store, view, ui } = page;
    Object.assign(this, { dirty: false, now });
    if (!store.collectives.settle(store.lanes)) this.dirty = true; // what is put off is drawn later
    page.arrange();
    measure(page);
    view.advance({ now, ended: page.ended, earliest: store.begun, rounds: store.rounds.list() });
    store.grow(now);
    const unix = (one) => store.toUnix(one);
    this.grid = ticks(view, now, unix, view.follow && !page.ended);
    elements.root.dataset.show = ui.show;
    elements.root.dataset.spans = String(store.total);
    if (ui.show === "table") this.#table(time);
    else if (ui.show === "lanes") this.#lanes(now, time);
    drawAxis(elements.axis, view, this.grid, { theme, mark: ui.mark, unix });
    this.roundStrip.draw({ store, view, theme, selected: page.round()?.index });
  }

  /** A table that changed sixty times a second could not be read: it follows twice a second, a person at once. */
  #table(time) {
    const { store, layout, view, ui } = this.page;
    if (time - this.tableAt < TABLE_MS && this.touched < this.tableAt) {
      this.dirty = true; // of an ended run this may have been the last news
      return;
    }
    this.tableAt = time;
    this.table.draw({ store, layout, view, selected: ui.selection });
  }

  #lanes(now, time) {
    const { page, theme } = this;
    const { store, view, ui, layout, viewport } = page;
    const scene = { view, layout, theme, phases: store.phases, selected: ui.selection, grid: this.grid, ...viewport };
    this.bars = this.strip.draw(scene);
    this.#overlay(now);
    this.heads.draw({ layout, store, ui, round: page.round(), tracks: this.tracks, ...viewport });
    // Charts of very many series wait until the view rests, and follow it once a second.
    const late = this.charts.heavy && (time - this.touched < REST_MS || time - this.chartsAt < CALM_MS);
    if (late) return;
    this.chartsAt = time;
    this.charts.draw({ store, view, theme, grid: this.grid, now, cursor: ui.cursor });
  }

  /** The pointer moved: the overlay follows, and the charts say what they were at that time. */
  #hover(now) {
    const { store, view, ui } = this.page;
    this.#overlay(now);
    if (ui.show === "lanes" && this.tracks.size) this.heads.draw({ layout: this.page.layout, store, ui, round: this.page.round(), tracks: this.tracks, ...this.page.viewport });
    if (ui.show === "lanes" && !this.charts.heavy) this.charts.draw({ store, view, theme: this.theme, grid: this.grid, now, cursor: ui.cursor });
  }

  #overlay(now) {
    const { ui, view, store, viewport, layout } = this.page;
    this.over = false;
    if (ui.show !== "lanes") return;
    const { hover, selection: selected, mark, cursor, area } = ui;
    const gaps = gapsInSight(layout, view, viewport);
    const instants = instantsInSight(layout, view, viewport);
    const tracks = ui.track ? [...rowsInSight(layout, viewport)].filter((row) => row.kind === "track") : [];
    this.overlay.draw({ view, theme: this.theme, store, bars: this.bars, gaps, instants, hover, selected, now, mark, cursor, area, ...viewport });
    this.tracks = drawTracks(this.overlay.context, tracks, { store, view, theme: this.theme, cursor, ...viewport });
  }

  #mirror(time) {
    this.mirrorAt = time;
    this.mirror.draw({ store: this.page.store, bars: this.bars, selected: this.page.ui.selection });
  }
}
