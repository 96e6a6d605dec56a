// What a person can do on the page: every key, button and gesture ends in one of these.

import { statisticsIn } from "./area.js";
import { locate } from "./detail.js";
import { CHOICES } from "./toolbar.js";

const MARGIN = 0.08;

export class Actions {
  /** `on`: changed(), announce(facts), scrollTo(row), link(). */
  constructor(page, on) {
    Object.assign(this, { page, on });
  }

  zoom(factor, anchor = 0.5) {
    this.page.view.zoom(factor, anchor);
    this.on.changed();
  }

  pan(share) {
    this.page.view.pan(share);
    this.on.changed();
  }

  follow() {
    this.page.view.followNow();
    this.page.ui.round = null;
    this.on.changed();
  }

  extent(extent) {
    if (extent) this.page.view.followNow(extent);
    this.on.changed();
  }

  toggle() {
    if (!this.page.view.follow) return this.follow();
    this.page.view.follow = false;
    return this.on.changed();
  }

  /** Shows the selected phase, else the round in question, with room at both sides. */
  fit() {
    const facts = locate(this.page.store, this.page.ui.selection);
    const round = this.page.round();
    if (facts) this.#show(facts.start, facts.end, 0.5);
    else if (round) this.#show(round.begin, this.#endOf(round), MARGIN);
  }

  round(by) {
    const { store } = this.page;
    const list = store.rounds.list();
    const at = list.findIndex((round) => round.index === (this.page.round()?.index ?? -1));
    const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
    if (next) this.rounds(next.index, next.index);
  }

  rounds(first, last) {
    const { store, ui } = this.page;
    const [one, other] = [store.rounds.get(first), store.rounds.get(last)];
    if (!one || !other) return;
    ui.round = last;
    this.#show(one.begin, this.#endOf(other), MARGIN);
  }

  select(selection) {
    const { ui, store } = this.page;
    ui.selection = selection;
    const facts = locate(store, selection);
    if (facts && facts.round >= 0 && store.rounds.get(facts.round)) ui.round = facts.round;
    this.on.announce(facts);
    this.on.changed();
  }

  /** Moves the selection by phases along a lane, or by lanes at the same time. */
  step(phases, lanes) {
    const { ui, store, view, layout } = this.page;
    const facts = locate(store, ui.selection);
    const rows = layout.rows.filter((row) => row.kind === "lane");
    if (!rows.length) return;
    if (!facts) return this.#selectNear(rows[0].lane, (view.from + Math.min(view.to, this.page.now())) / 2);
    const at = rows.findIndex((row) => row.lane === facts.lane);
    if (lanes) {
      const row = rows[Math.min(rows.length - 1, Math.max(0, at + lanes))];
      return this.#selectNear(row.lane, (Math.max(facts.start, view.from) + Math.min(facts.end, view.to)) / 2);
    }
    const all = facts.lane.phases();
    const index = all.findIndex((one) => one.id === facts.id && one.attempt === facts.attempt);
    const next = all[index + phases];
    return next && this.#reveal(facts.lane, next);
  }

  /** From the table of ranks back to a rank's lane, in the round in question. */
  open(index) {
    const { ui, store, layout } = this.page;
    const round = this.page.round();
    ui.show = "lanes";
    if (round) this.rounds(round.index, round.index);
    const lane = store.lane(index);
    this.on.scrollTo(layout.rows.find((row) => row.lane === lane));
    this.#selectNear(lane, round ? (round.begin + this.#endOf(round)) / 2 : this.page.now());
  }

  #selectNear(lane, time) {
    const all = lane.phases();
    const under = all.findLast((one) => one.start <= time && one.end > time) ?? all.findLast((one) => one.start <= time) ?? all[0];
    if (under) this.#reveal(lane, under);
  }

  #reveal(lane, phase) {
    const { view, layout } = this.page;
    const width = view.to - view.from;
    if (phase.end < view.from || phase.start > view.to) view.show(phase.start - width / 2, phase.start + width / 2);
    this.on.scrollTo(layout.rows.find((row) => row.lane === lane));
    this.select({ attempt: phase.attempt, id: phase.id, lane: lane.index });
  }

  area(from, to, done) {
    const { view, ui } = this.page;
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)].map((x) => view.time(x));
    const [upper, lower] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    ui.area = { from: left, to: right, top: upper, bottom: lower };
    if (done) ui.statistics = statisticsIn(this.page, ui.area);
    this.on.changed();
  }

  choose(name, value) {
    this.page.ui[name] = value;
    this.on.changed();
  }

  cycle(name) {
    const values = CHOICES[name].map(([value]) => value);
    this.choose(name, values[(values.indexOf(this.page.ui[name]) + 1) % values.length]);
  }

  /** Shows something else than the lanes, or them again. */
  flip(show) {
    this.choose("show", this.page.ui.show === show ? "lanes" : show);
  }

  pin(lane = null) {
    const { ui, store } = this.page;
    const picked = lane ?? locate(store, ui.selection)?.lane ?? ui.hover?.lane;
    if (!picked) return;
    const { name } = picked.info;
    if (!ui.pins.delete(name)) ui.pins.add(name);
    this.on.changed();
  }

  mark() {
    const { ui, store } = this.page;
    ui.mark = ui.cursor ?? locate(store, ui.selection)?.start ?? null;
    this.on.changed();
  }

  link() {
    this.on.link();
  }

  search() {
    this.page.elements.gutter.querySelector("input").focus();
  }

  reading() {
    this.page.elements.toolbar.querySelector(".reading").focus();
  }

  help() {
    this.page.elements.help.showModal();
  }

  /** Undoes the nearest thing: a filter that hides all lanes, typing, the area, the selection, then the mark. */
  escape() {
    const { ui, layout } = this.page;
    if (ui.filter && !layout.lanes) ui.filter = "";
    else if (document.activeElement?.matches("input, select")) document.activeElement.blur();
    else if (ui.area) ui.area = ui.statistics = null;
    else if (ui.selection) ui.selection = null;
    else ui.mark = null;
    this.on.changed();
  }

  close() {
    const { ui } = this.page;
    if (ui.selection) ui.selection = null;
    else ui.area = ui.statistics = null;
    this.on.changed();
  }

  #endOf(round) {
    return Number.isFinite(round.end) ? round.end : Math.max(round.begin + 1e9, this.page.now());
  }

  #show(from, to, margin) {
    const room = Math.max(1000, to - from) * margin;
    this.page.view.show(from - room, to + room);
    this.on.changed();
  }
}
