// The page's state between frames: what is known, what is looked at, and how that stands in the URL.

import { Clock } from "./clock.js";
import { Details, locate } from "./detail.js";
import { reachOf } from "./ending.js";
import { busyTimes } from "./kinds.js";
import { arrange } from "./lanes.js";
import { Store } from "./store.js";
import { tracksOf } from "./tracks.js";
import { defaults, format, parse } from "./urlstate.js";
import { View } from "./view.js";
import { wordsOf } from "./words.js";

const URL_DELAY_MS = 300;

export class Page {
  constructor(elements, paths) {
    Object.assign(this, { elements, paths, store: new Store(), clock: new Clock(), view: new View(), layoutStamp: "" });
    this.viewport = { top: 0, height: 1 };
    this.details = new Details(paths.phase, paths.event);
    this.layout = arrange([], defaults());
    this.pending = parse(location.search);
    const { group, sort, rows, show, track, filter, round, selection } = this.pending;
    this.ui = { group, sort, rows, show, track, filter, round, selection, pins: new Set(this.pending.pins) };
    Object.assign(this.ui, { hover: null, cursor: null, area: null, statistics: null, mark: null });
    if (this.pending.extent) this.view.followNow(this.pending.extent);
    this.chosen = Boolean(this.pending.extent || this.pending.window);
  }

  get ended() {
    return this.store.ended;
  }

  /** Server time in ns since the store's origin; of an ended run, its end. NaN before anything is known. */
  now() {
    const { store } = this;
    const said = this.clock.now();
    const reached = reachOf(store);
    if (this.ended || Number.isNaN(said)) return Number.isFinite(reached) ? reached : NaN;
    return Math.max(said, reached);
  }

  /** What the run's rounds and workers are called. */
  get words() {
    return wordsOf(this.store);
  }

  /** The round in question: the one picked, else the last that has closed, else the newest. */
  round() {
    const { rounds } = this.store;
    return rounds.get(this.ui.round) ?? rounds.newestClosed ?? rounds.newest;
  }

  /** Times of the URL are Unix times and need the store's origin, so they wait for the first snapshot. */
  settle() {
    const { window, mark } = this.pending;
    if (window) this.view.show(this.store.fromUnix(window.from), this.store.fromUnix(window.to));
    else if (this.ended && !this.chosen) this.view.followNow({ all: true });
    if (mark !== null) this.ui.mark = this.store.fromUnix(mark);
    this.pending = { window: null, mark: null };
  }

  /** Keeps looking at the same time when a new snapshot moves the origin. */
  reset(apply) {
    const { view, store, ui } = this;
    const before = store.origin;
    store.reset();
    apply();
    this.clock.reset();
    if (before === null || store.origin === null) return;
    const moved = Number(before - store.origin);
    Object.assign(view, { from: view.from + moved, to: view.to + moved });
    if (ui.mark !== null) ui.mark += moved;
    ui.area = ui.statistics = ui.hover = null;
  }

  /** Places lanes anew where something that decides on them has changed; true if so. */
  arrange() {
    const { ui, store } = this;
    const round = ui.sort === "slowest" ? this.round() : null;
    const stamp = [ui.track, ui.track && store.samples.described, store.structure, ui.group, ui.sort, ui.rows, ui.filter, [...ui.pins].join("\n"), round?.index, round?.closed, this.words.worker].join("/");
    if (stamp === this.layoutStamp) return false;
    this.layoutStamp = stamp;
    this.layout = arrange([...store.lanes.values()], { ...ui, worker: this.words.worker }, busyTimes(store, round), tracksOf(store.samples, ui.track));
    return true;
  }

  selected() {
    return locate(this.store, this.ui.selection);
  }

  /** How many rounds have begun since the view was paused; of a page that was opened paused, since its first picture. */
  fresh() {
    const newest = this.store.rounds.newest?.index;
    if (newest === undefined) return 0;
    if (this.view.follow) this.left = newest;
    this.left ??= newest;
    return newest - this.left;
  }

  /** Writes the state into the URL once it rests. */
  remember() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const query = format(this.#state());
      history.replaceState(null, "", query ? `?${query}` : location.pathname);
    }, URL_DELAY_MS);
  }

  /** The address of a phase or event, else of the moment in sight; it shows the same however the run goes on. */
  link(facts = this.selected()) {
    const { view, store } = this;
    const end = facts?.open ? this.now() : facts?.end;
    const room = facts && Math.max((end - facts.start) / 2, (view.to - view.from) / 20);
    const [from, to] = facts ? [facts.start - room, end + room] : [view.from, view.to];
    const window = { from: String(store.toUnix(from)), to: String(store.toUnix(to)) };
    const round = facts?.round >= 0 ? facts.round : (this.round()?.index ?? null);
    const selection = facts && { attempt: facts.attempt, id: facts.id };
    return `${location.origin}${location.pathname}?${format({ ...this.#state(), window, extent: null, round, selection })}`;
  }

  #state() {
    const { ui, view, store } = this;
    const unix = (time) => String(store.toUnix(time));
    const initial = view.follow && (view.extent.rounds === 3 || (this.ended && view.extent.all));
    return {
      ...ui,
      pins: [...ui.pins],
      window: view.follow ? null : { from: unix(view.from), to: unix(view.to) },
      extent: initial ? null : view.extent,
      mark: ui.mark === null ? null : unix(ui.mark),
    };
  }
}
