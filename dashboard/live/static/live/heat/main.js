// The heat map's page: asks for a phase's figures, draws them as a map or a table, and says what a cell is.

import { definition } from "../js/definition.js";
import { el, fill, fit, say } from "../js/dom.js";
import { download } from "../js/download.js";
import { duration, isolated, plural } from "../js/format.js";
import { Theme } from "../js/theme.js";
import { Figures, TICKS, colourOf, ratioText, scaleOf } from "./figures.js";
import { HeatMap } from "./map.js";
import { HeatTable } from "./table.js";

const root = document.getElementById("heat");
const parts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
const state = { figures: null, order: [], until: null, table: false, asked: 0 };
const link = (round) => `${root.dataset.run}?round=${round}&follow=all`;
const round = ({ column }) => state.figures.rounds[column];

const theme = new Theme(root, () => draw());
const map = new HeatMap(parts, { cell: (cell, firm) => told(cell ?? map.cursor, firm), open: (cell) => location.assign(link(round(cell))) });
const table = new HeatTable(parts.table, {
  link,
  went: (cell) => {
    map.cursor = { row: Math.max(0, cell.row), column: Math.max(0, cell.column) };
    draw();
  },
});

function colours() {
  const token = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  return { low: token("kind-apply"), even: theme.line, high: token("kind-encode"), highest: theme.bad, text: theme.text, muted: theme.muted, font: theme.font };
}

/** What a cell is, in a line. */
function told(cell, firm) {
  const { figures, order } = state;
  if (!figures || figures.empty) return;
  const [place, at] = [order[cell.row], cell.column];
  const seconds = figures.at(place, at);
  const who = `${isolated(figures.workers[place])}, round ${figures.rounds[at]}`;
  parts.said.setAttribute("aria-live", firm ? "polite" : "off");
  say(parts.said, Number.isNaN(seconds) ? `${who}: no such phase` : `${who}: ${duration(seconds * 1e9)}, ${ratioText(figures.ratio(place, at))} the median ${duration(figures.medians[at] * 1e9)} of ${plural(figures.counts[at], "worker")}`);
}

function heading({ phase, rounds, workers }) {
  const label = `${isolated(phase)} of ${plural(workers.length, "worker")} in rounds ${rounds[0]} to ${rounds.at(-1)}`;
  const text = `A cell is the seconds that a worker spent in “${isolated(phase)}” in one round by its own clock, all its occurrences there summed. Its colour is that over the round’s median: the middle of all workers that have the phase in that round. ${plural(rounds.length, "round")}, each in its newest closed generation; of open ones there are no figures yet.`;
  const { button, card } = definition(label, text, { "aria-label": `${label}: what it means` });
  fill(parts.title, button, card);
}

function legend() {
  const scale = scaleOf(colours());
  const canvas = el("canvas", { role: "img", "aria-label": "Colours from a quarter of the round’s median to four times it and beyond" });
  fit(canvas, 160, 10, 1);
  const context = canvas.getContext("2d");
  for (let x = 0; x < 160; x++) {
    context.fillStyle = `rgb(${colourOf(2 ** ((x / 159) * 4 - 2), scale).join(",")})`;
    context.fillRect(x, 0, 1, 10);
  }
  const ticks = TICKS.map((tick, i) => el("span", {}, `${i === 0 ? "≤ " : i === TICKS.length - 1 ? "≥ " : ""}${tick}`));
  fill(parts.legend, el("span", { class: "muted" }, "times the round’s median"), el("div", { class: "scale" }, canvas, el("div", { class: "ticks" }, ticks)), el("span", { class: "muted" }, el("i", { class: "absent", "aria-hidden": "true" }), "no such phase"));
}

function draw() {
  const { figures } = state;
  if (!figures) return;
  parts.earlier.disabled = !figures.earlier;
  parts.later.disabled = !figures.later;
  parts.view.setAttribute("aria-pressed", String(state.table));
  const nothing = figures.empty;
  parts.map.hidden = nothing || state.table;
  parts.table.hidden = nothing || !state.table;
  if (nothing) {
    fill(parts.title);
    return void say(parts.said, figures.rounds.length ? `Nobody was in “${isolated(figures.phase)}” in rounds ${figures.rounds[0]} to ${figures.rounds.at(-1)}.` : "No round has closed yet: the map is of rounds that are over.");
  }
  legend();
  heading(figures);
  if (state.table) table.draw(figures, state.order, map.cursor);
  else map.draw(figures, state.order, colours());
  told(map.cursor, false);
}

async function load() {
  const asked = ++state.asked;
  const query = new URLSearchParams({ phase: parts.phase.value, ...(state.until === null ? {} : { until: state.until }) });
  history.replaceState(null, "", `?${query}`);
  root.setAttribute("aria-busy", "true");
  let answer = null;
  try {
    const { bytes } = await download(`${root.dataset.url}?${query}`, { headers: { Accept: "application/json" } });
    answer = bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // said below
  }
  if (asked !== state.asked) return;
  root.setAttribute("aria-busy", "false");
  if (!answer) return void fill(parts.said, "The figures could not be loaded. ", el("button", { type: "button", class: "button", click: load }, "Try again"));
  state.figures = new Figures(answer);
  map.cursor = { row: 0, column: state.figures.rounds.length - 1 };
  reorder();
}

function reorder() {
  state.order = state.figures?.order(parts.order.value) ?? [];
  draw();
}

/** Other rounds: those up to this one. */
function go(until) {
  state.until = until;
  load();
}

parts.phase.addEventListener("change", load);
parts.order.addEventListener("change", reorder);
parts.earlier.addEventListener("click", () => go(state.figures.rounds[0] - 1));
parts.later.addEventListener("click", () => go(state.figures.rounds.at(-1) + state.figures.rounds.length));
parts.view.addEventListener("click", () => {
  state.table = !state.table;
  draw();
});
new ResizeObserver(() => state.figures && !state.table && draw()).observe(root);
const until = new URLSearchParams(location.search).get("until");
if (/^\d{1,10}$/.test(until ?? "")) state.until = Number(until);
load();
