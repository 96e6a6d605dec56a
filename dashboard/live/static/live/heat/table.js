// The same figures as a table: some workers and rounds at a time, for those who read better than they look.

import { el, fill } from "../js/dom.js";
import { duration, legible } from "../js/format.js";
import { capital } from "../js/words.js";
import { ratioText } from "./figures.js";

export const ROWS = 25;
export const COLUMNS = 10;

/** The stretch of `size` that a place is in: [first, beyond the last]. */
export function stretch(place, size, all) {
  const first = Math.floor(Math.max(0, Math.min(place, all - 1)) / size) * size;
  return [first, Math.min(all, first + size)];
}

export class HeatTable {
  /** `words` are the run's, `link(round)` is where a round's timeline is; `went(cell)` says that others are shown. */
  constructor(element, { words, link, went }) {
    Object.assign(this, { element, words, link, went });
  }

  draw(figures, order, cursor) {
    const { round, worker } = this.words;
    const [top, bottom] = stretch(cursor.row, ROWS, order.length);
    const [left, right] = stretch(cursor.column, COLUMNS, figures.rounds.length);
    const columns = figures.rounds.slice(left, right).map((_, i) => left + i);
    const focused = this.element.contains(document.activeElement) ? document.activeElement.textContent : null;
    const turn = (label, to, there) => el("button", { type: "button", class: "button", disabled: !there, click: () => this.went(to) }, label);
    const cell = (row, column) => {
      const seconds = figures.at(row, column);
      return el("td", {}, Number.isNaN(seconds) ? "–" : [duration(seconds * 1e9), " ", el("small", { class: "muted" }, ratioText(figures.ratio(row, column)))]);
    };
    fill(this.element,
      el("p", { class: "heat-turns" },
        turn(`Earlier ${round}s here`, { row: cursor.row, column: left - COLUMNS }, left > 0), turn(`Later ${round}s here`, { row: cursor.row, column: right }, right < figures.rounds.length),
        turn(`${capital(worker)}s before`, { row: top - ROWS, column: cursor.column }, top > 0), turn(`${capital(worker)}s after`, { row: bottom, column: cursor.column }, bottom < order.length)),
      el("div", { class: "heat-frame", tabindex: "0", role: "region", "aria-label": "Figures" },
        el("table", {},
          el("caption", {}, `${capital(worker)}s ${top + 1} to ${bottom} of ${order.length.toLocaleString("en")}, ${round}s ${figures.rounds[left]} to ${figures.rounds[right - 1]}: seconds in “${legible(figures.phase)}”, and times the lower median of the others`),
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, worker), columns.map((column) => el("th", { scope: "col" }, el("a", { href: this.link(figures.rounds[column]), "aria-label": `${capital(round)} ${figures.rounds[column]} in the timeline` }, String(figures.rounds[column])))))),
          el("tbody", {},
            el("tr", { class: "heat-medians" }, el("th", { scope: "row" }, "lower median"), columns.map((column) => el("td", {}, duration(figures.medians[column] * 1e9), " ", el("small", { class: "muted" }, `of ${figures.counts[column].toLocaleString("en")}`)))),
            order.slice(top, bottom).map((row) => el("tr", {}, el("th", { scope: "row" }, el("bdi", {}, legible(figures.workers[row]))), columns.map((column) => cell(row, column))))))));
    if (focused) [...this.element.querySelectorAll("button:not(:disabled)")].find((button) => button.textContent === focused)?.focus();
  }
}
