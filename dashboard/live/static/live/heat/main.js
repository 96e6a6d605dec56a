// The heat map's page: asks for a phase's figures, draws them as a map or a table, and says what a cell is.

import { definition } from "../js/definition.js";
import { el, fill, fit, say } from "../js/dom.js";
import { download } from "../js/download.js";
import { duration, isolated, plural } from "../js/format.js";
import { Theme } from "../js/theme.js";
import { Figures, MOST_RATIO, TICKS, colourOf, ratioText, scaleOf } from "./figures.js";
import { HeatMap } from "./map.js";
import { HeatTable } from "./table.js";

const root = document.getElementById("heat");
const parts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
const words = { round: root.dataset.round, worker: root.dataset.worker };
const state = { figures: null, order: [], until: null, table: false, asked: 0 };
const link = (round) => `${root.dataset.run}?round=${round}&follow=all`;
const round = ({ column }) => state.figures.rounds[column];

const theme = new Theme(root, () => draw());
const map = new HeatMap(parts, { cell: (cell, firm) => told(cell ?? map.cursor, firm), open: (cell) => location.assign(link(round(cell))) });
const table = new HeatTable(parts.table, {
  words,
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
  const who = `${isolated(figures.workers[place])}, ${words.round} ${figures.rounds[at]}`;
  parts.said.setAttribute("aria-live", firm ? "polite" : "off");
  say(parts.said, Number.isNaN(seconds) ? `${who}: no such phase` : `${who}: ${duration(seconds * 1e9)}, ${comparedText(figures, place, at)}`);
}

/** "9.00 × the lower median 400 ms of the 3 others". */
function comparedText(figures, place, at) {
  const others = figures.counts[at] - 1;
  if (!others) return `no other ${words.worker} has the phase in that ${words.round}`;
  const whom = others > 1 ? `the lower median ${duration(figures.reference(place, at) * 1e9)} of the ${others.toLocaleString("en")} others` : `the ${duration(figures.reference(place, at) * 1e9)} of the other`;
  return `${ratioText(figures.ratio(place, at))} ${whom}`;
}

function heading({ phase, rounds, workers }) {
  const label = `${isolated(phase)} of ${plural(workers.length, words.worker)} in ${words.round}s ${rounds[0]} to ${rounds.at(-1)}`;
  const text = `A cell is the seconds that a ${words.worker} spent in “${isolated(phase)}” in one ${words.round} by its own clock, all its occurrences there summed. Its colour is that over the lower median of the others: all other ${words.worker}s that have the phase in that ${words.round}. Who is alone in it has an even colour. ${plural(rounds.length, words.round)}, each in its newest closed generation; of open ones there are no figures yet.`;
  const { button, card } = definition(label, text, { "aria-label": `${label}: what it means` });
  fill(parts.title, button, card);
}

function legend() {
  const scale = scaleOf(colours());
  const canvas = el("canvas", { role: "img", "aria-label": `Colours from ${TICKS[0]} to ${MOST_RATIO} times the lower median of the others, and beyond` });
  fit(canvas, 160, 10, 1);
  const context = canvas.getContext("2d");
  for (let x = 0; x < 160; x++) {
    context.fillStyle = `rgb(${colourOf(MOST_RATIO ** ((x / 159) * 2 - 1), scale).join(",")})`;
    context.fillRect(x, 0, 1, 10);
  }
  const ticks = TICKS.map((tick, i) => el("span", {}, `${i === 0 ? "≤ " : i === TICKS.length - 1 ? "≥ " : ""}${tick}`));
  fill(parts.legend, el("span", { class: "muted" }, "times the lower median of the others"), el("div", { class: "heat-scale" }, canvas, el("div", { class: "heat-ticks" }, ticks)), el("span", { class: "muted" }, el("i", { class: "heat-absent", "aria-hidden": "true" }), "no such phase"));
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
    return void say(parts.said, figures.rounds.length ? `Nobody was in “${isolated(figures.phase)}” in ${words.round}s ${figures.rounds[0]} to ${figures.rounds.at(-1)}.` : `No ${words.round} has closed yet: the map is of ${words.round}s that are over.`);
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
