// Starts the live page of a run: wires what is known, what is drawn and what people do.

import { Actions } from "./actions.js";
import { copy } from "./clipboard.js";
import { Connection } from "./connection.js";
import { ofBar, ofEvent } from "./detail.js";
import { el, fill, say } from "./dom.js";
import { duration, plural } from "./format.js";
import { Header } from "./header.js";
import { History } from "./history.js";
import { Inspector } from "./inspector.js";
import { KEYS, keyName, listen } from "./keys.js";
import { under } from "./measure.js";
import { Page } from "./page.js";
import { Pointer } from "./pointer.js";
import { Ranks } from "./ranks.js";
import { winner } from "./raster.js";
import { reach, reachPhase } from "./reach.js";
import { Renderer } from "./renderer.js";
import { RoundInspector } from "./roundinspector.js";
import { RoundStrip } from "./roundstrip.js";
import { Stacks } from "./stacks.js";
import { Status } from "./status.js";
import { Theme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { Tooltip } from "./tooltip.js";

const SNAPSHOT_SAMPLES_NS = 20 * 60e9;

const root = document.getElementById("live");
const elements = Object.fromEntries([...root.querySelectorAll("[data-part]")].map((element) => [element.dataset.part, element]));
elements.root = root;
const base = `${location.pathname.replace(/\/?$/, "/")}live/`;
const page = new Page(elements, { phase: `${base}phase`, event: `${base}event` });
const { store, view, ui } = page;

const theme = new Theme(document.documentElement, () => renderer.invalidate());
const header = new Header(elements);
const tooltip = new Tooltip(elements.tooltip, page.details);
const actions = new Actions(page, {
  changed() {
    page.remember();
    renderer.invalidate(true);
  },
  announce: (facts) => renderer.mirror.announce(store, facts),
  scrollTo(row) {
    if (!row || (row.y >= page.viewport.top && row.y + row.height <= page.viewport.top + page.viewport.height)) return;
    elements.scroller.scrollTop += row.y - page.viewport.top - page.viewport.height / 2;
  },
  async link() {
    const done = await copy(page.link());
    toolbar.copied(done);
    say(elements.live, done ? "A link is on the clipboard" : "The link could not be copied");
  },
});
const status = new Status(elements, { clear: () => actions.choose("filter", "") });
const toolbar = new Toolbar(elements, actions);
const stacks = new Stacks(`${base}stacks`, (text) => say(elements.live, text));
const analysis = new RoundInspector(`${base}analysis`, { go: (piece, begin, end) => reach(page, actions, piece, begin, end), changed: () => renderer.invalidate(true) });
const inspector = new Inspector(elements.inspector, { details: page.details, theme, stacks, analysis }, { close: () => actions.close(), link: () => actions.link(), step: (by) => actions.round(by), ranks: () => actions.flip("ranks"), show: (selection) => reachPhase(page, actions, selection), investigate: root.dataset.investigate });
const ranks = new Ranks(elements.ranks, `${base}step`, { step: (by) => actions.round(by), pick: (lane) => actions.open(lane), changed: () => renderer.invalidate(true) });
const roundStrip = new RoundStrip(elements.rounds, {
  pick: (first, last) => actions.rounds(first, last),
  hint: (text, event) => tooltip.text(text, event && { x: event.clientX, y: event.clientY }),
});
const history = new History(`${base}spans`, { frames: take });
const connection = new Connection({
  snapshotUrl: `${base}snapshot`,
  socketUrl: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws${location.pathname.replace(/\/?$/, "/")}`,
  on: { snapshot, frames: take, now: (text) => page.clock.hear(store.fromUnix(text)), state: (name, detail) => status.set(name, detail) },
});
const renderer = new Renderer(page, theme, { actions, words, drawn: () => connection.drawn(), roundStrip });

function take(frames) {
  store.apply(frames);
  renderer.invalidate();
}

function snapshot(frames) {
  page.reset(() => store.apply(frames));
  const samplesFrom = store.latest - SNAPSHOT_SAMPLES_NS;
  history.reset(store.olderFrom === null ? samplesFrom : Math.max(store.earliest, samplesFrom));
  page.settle();
  renderer.invalidate();
}

function words(now) {
  status.draw(store, { filter: ui.filter, lanes: page.layout.lanes });
  header.draw(store, now, analysis.newest);
  tooltip.tick(store, now);
  say(elements.strips, `${page.words.round}s`);
  if (ui.show === "ranks") ranks.draw({ round: page.round(), layout: page.layout, sort: ui.sort, filter: ui.filter, words: page.words });
  toolbar.draw({ words: page.words, waits: store.collectives.phases.size > 0, view, ui, fresh: page.fresh(), running: !page.ended, phases: store.phases, samples: store.samples });
  inspector.draw({ store, facts: page.selected(), area: ui.statistics, round: page.round(), now, byWorker: ui.show === "ranks" });
  root.dataset.cursor = connection.cursor ? `${connection.cursor.epoch}.${connection.cursor.last}` : "";
  if (store.origin !== null) history.look(store, view);
}

/** The event or phase under a point, within some pixels. */
function phaseAt(point) {
  const place = under(page, point);
  if (!place) return { place: null, facts: null };
  if (place.event) return { place, facts: ofEvent(store, place.lane, place.event) };
  const bar = [0.5, 3].map((reach) => winner(place.lane, place.time - view.perPixel * reach, place.time + view.perPixel * reach, ui.selection)).find(Boolean);
  return { place, facts: bar ? ofBar(store, place.lane, bar) : null };
}

function hover(point) {
  const { place, facts } = point ? phaseAt(point) : { place: null, facts: null };
  ui.cursor = point ? view.time(point.x) : null;
  ui.hover = facts ? { attempt: facts.attempt, id: facts.id, lane: facts.lane } : null;
  const at = point && { x: point.clientX, y: point.clientY };
  if (place?.gap) tooltip.text(`${plural(place.gap.count, "record")} of ${place.lane.info.name} lost here: the agent had no room for them`, at);
  else if (facts) tooltip.phase(store, facts, page.now(), at);
  else if (place && page.layout.bar < 12) tooltip.text(place.lane.info.name, at);
  else if (ui.mark !== null && point) tooltip.text(`${duration(ui.cursor - ui.mark)} from the mark`, at);
  else tooltip.hide();
  renderer.hovered();
}

new Pointer(elements.plot, {
  hover,
  click(point) {
    const { facts } = phaseAt(point);
    actions.select(facts && { attempt: facts.attempt, id: facts.id, lane: facts.lane.index });
    elements.grid.focus({ preventScroll: true });
    tooltip.hide();
    // Where the panel stands below the lanes, what was asked for would open out of sight.
    if (facts && elements.inspector.getBoundingClientRect().top >= innerHeight) elements.inspector.scrollIntoView();
  },
  open(point) {
    const { facts } = phaseAt(point);
    if (facts) actions.select({ attempt: facts.attempt, id: facts.id, lane: facts.lane.index });
    actions.fit();
  },
  pan(share) {
    tooltip.hide();
    actions.pan(share);
  },
  zoom: (factor, anchor) => actions.zoom(factor, anchor),
  area: (from, to, done) => actions.area(from, to, done),
});

listen(actions);
fill(elements.keys, KEYS.map(([keys, , text]) => [el("dt", {}, keys.map((key) => el("kbd", {}, keyName(key)))), el("dd", {}, text)]));
elements.charts.addEventListener("pointermove", (event) => {
  const x = event.clientX - elements.plot.getBoundingClientRect().left;
  ui.cursor = x >= 0 ? view.time(x) : null;
  renderer.hovered();
});
elements.charts.addEventListener("pointerleave", () => hover(null));
elements.scroller.addEventListener("scroll", () => renderer.invalidate());
new ResizeObserver(() => renderer.invalidate()).observe(elements.scroller);
document.addEventListener("visibilitychange", () => renderer.invalidate());
connection.start();
