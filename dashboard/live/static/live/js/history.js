// Fetches older spans and samples: what the first picture left out, and where the view moves to and none are loaded.

import { download } from "./download.js";
import { decode } from "./frames.js";

// So many of the newest spans are here soon after the first picture, whatever is looked at.
const AT_HAND = 200_000;
// So many are taken at once: of more the page would stand still for longer than a person does not see.
const AT_ONCE = 50_000;
// Times are rounded on their way here: where stretches meet, a gap shorter than this (in ns) is none.
const SEAM = 1e5;

/** Stretches of [from, to] that `covered` (sorted, disjoint pairs) leaves out. */
export function missing(covered, from, to) {
  const found = [];
  for (const [begin, end] of covered) {
    if (end <= from) continue;
    if (begin >= to) break;
    if (begin > from) found.push([from, begin]);
    from = Math.max(from, end);
  }
  if (from < to) found.push([from, to]);
  return found;
}

/** `covered` with one more stretch, merged. */
export function joined(covered, from, to) {
  const sorted = [...covered, [from, to]].sort((a, b) => a[0] - b[0]);
  const found = [];
  for (const [begin, end] of sorted) {
    const last = found.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([begin, end]);
  }
  return found;
}

export class History {
  constructor(url, on) {
    Object.assign(this, { url, on, covered: [], busy: false });
  }

  /** A snapshot holds everything from `from` on. */
  reset(from) {
    this.covered = [[from, Infinity]];
  }

  /** Fetches what three windows' width around the view lacks, then what is to be at hand, one stretch at a time. */
  async look(store, view) {
    const gap = this.wanted(store, view);
    if (!gap || this.busy || gap[0] < store.forgotten) return;
    this.busy = true;
    const [from, to] = gap.map((time) => store.toUnix(time));
    const { origin } = store;
    try {
      const { answer, bytes } = await download(`${this.url}?from_ns=${from}&to_ns=${to}&spans=${AT_ONCE}`);
      if (!bytes) return;
      const frames = decode(bytes);
      if (store.origin !== origin) return;
      // Where not all of it fitted, the server says from when on it did.
      const reached = answer.headers.get("Roundwatch-From-Ns");
      this.covered = joined(this.covered, reached ? Math.max(gap[0], store.fromUnix(reached)) : gap[0], gap[1]);
      this.on.frames(frames);
    } catch {
      // The connection says so when the server is away; the next move of the view asks again.
    } finally {
      this.busy = false;
    }
  }

  /** The stretch to fetch next, [from, to]; undefined where nothing is missing. */
  wanted(store, view) {
    const width = view.to - view.from;
    const first = this.#runStart(store);
    const [gap] = this.#gaps(Math.max(first, view.from - width), view.to + width);
    if (gap || store.olderFrom === null || store.total >= AT_HAND) return gap;
    return this.#gaps(first, store.latest).at(-1);
  }

  #gaps(from, to) {
    return missing(this.covered, from, to).filter(([begin, end]) => end - begin > SEAM);
  }

  #runStart(store) {
    const round = store.rounds.list()[0]?.begin ?? Infinity;
    const started = store.run.started_ns ? store.fromUnix(store.run.started_ns) - 60e9 : Infinity;
    return Math.min(started, round, store.begun);
  }
}
