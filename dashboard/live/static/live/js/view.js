// Which stretch of time is looked at: following the newest, or paused where the person put it.

import { clamp, median } from "./arithmetic.js";

const SECOND = 1e9;
const DEFAULT_ROUNDS = 3;
const DEFAULT_SPAN = 120 * SECOND;
const SHORTEST = 10_000;
const ROOM = 0.07;
const ROOM_ENDED = 0.02;
const STEPS_ARE_SHORTER_THAN = 5 * SECOND;

/** What can be followed, as it stands in the URL: "3r" (rounds), "120s" (seconds), "all". */
export function parseExtent(text) {
  const found = /^(?:(\d{1,4})r|(\d{1,9}(?:\.\d{1,6})?)s|all)$/.exec(text ?? "");
  if (!found) return null;
  if (found[1]) return { rounds: Math.max(1, Number(found[1])) };
  return found[2] ? { span: Math.max(SHORTEST, Number(found[2]) * SECOND) } : { all: true };
}

export function extentText(extent) {
  if (extent.rounds) return `${extent.rounds}r`;
  return extent.span ? `${Number((extent.span / SECOND).toFixed(6))}s` : "all";
}

export class View {
  constructor() {
    this.follow = true;
    this.extent = { rounds: DEFAULT_ROUNDS };
    this.from = -DEFAULT_SPAN;
    this.to = 0;
    this.width = 1;
    this.span = 0;
    this.cursor = null;
    this.brief = false;
  }

  get perPixel() {
    return (this.to - this.from) / this.width;
  }

  x(time) {
    return (time - this.from) / this.perPixel;
  }

  time(x) {
    return this.from + x * this.perPixel;
  }

  /** While following, moves the window to `now` in whole pixels; true where that changed it. */
  advance({ now, ended, earliest, rounds }) {
    if (!this.follow || !Number.isFinite(now)) return false;
    const wall = median(rounds.slice(-6).filter((round) => round.closed).map((round) => round.end - round.begin));
    if (Number.isFinite(wall)) this.brief = wall < STEPS_ARE_SHORTER_THAN;
    const started = Number.isFinite(earliest) ? earliest : now;
    const wanted = this.#wanted(now - started, wall);
    if (Math.abs(wanted - this.span) > this.span * (this.extent.all ? 0.005 : 0.2) || this.extent.span) this.span = wanted;
    const room = ended ? ROOM_ENDED : ROOM;
    const perPixel = this.span / (this.width * (1 - room));
    const to = Math.ceil((now + this.width * room * perPixel) / perPixel) * perPixel;
    const from = to - this.width * perPixel;
    const changed = from !== this.from || to !== this.to;
    Object.assign(this, { from, to });
    return changed;
  }

  /** The whole length that is followed, before room is left at its right. */
  #wanted(elapsed, wall) {
    if (this.extent.all) return Math.max(elapsed * 1.01, SECOND);
    if (this.extent.span) return this.extent.span;
    if (wall >= STEPS_ARE_SHORTER_THAN) return wall * this.extent.rounds;
    const grown = [30, 60].find((seconds) => elapsed * 1.1 < seconds * SECOND);
    return grown ? grown * SECOND : DEFAULT_SPAN;
  }

  /** Follows again, with another extent if one is given. */
  followNow(extent = null) {
    this.follow = true;
    this.span = 0;
    if (extent) this.extent = extent;
  }

  show(from, to) {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return;
    this.follow = false;
    const middle = (from + to) / 2;
    const half = Math.max(SHORTEST, to - from) / 2;
    Object.assign(this, { from: middle - half, to: middle + half });
  }

  /** Moves by a share of the window's width; pauses. */
  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  /** Zooms by a factor about a share of the width; following keeps the right edge and only changes its length. */
  zoom(factor, anchor = 0.5) {
    const span = clamp((this.to - this.from) * factor, SHORTEST, 400 * 86400 * SECOND);
    if (this.follow) {
      this.extent = { span: clamp((this.span || DEFAULT_SPAN) * factor, SHORTEST, 400 * 86400 * SECOND) };
      return;
    }
    const fixed = this.from + (this.to - this.from) * anchor;
    this.show(fixed - span * anchor, fixed + span * (1 - anchor));
  }
}
