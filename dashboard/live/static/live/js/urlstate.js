// Every state of the page in its URL, so that a link shows another person exactly this.

import { extentText, parseExtent } from "./view.js";

const CHOICES = {
  group: ["machine", "none"],
  sort: ["name", "slowest", "arrival"],
  rows: ["auto", "comfortable", "compact", "overview"],
  show: ["lanes", "table", "ranks"],
};

export function defaults() {
  return { group: "machine", sort: "name", rows: "auto", show: "lanes", track: "", filter: "", pins: [], round: null, selection: null, mark: null, window: null, extent: null };
}

const time = (text) => (/^-?\d{1,19}$/.test(text ?? "") ? BigInt(text) : null);

/** State from a query string; what is missing or makes no sense is left at its default. Times are Unix ns (BigInt). */
export function parse(search) {
  const query = new URLSearchParams(search);
  const state = defaults();
  for (const [name, allowed] of Object.entries(CHOICES)) if (allowed.includes(query.get(name))) state[name] = query.get(name);
  state.filter = query.get("q") ?? "";
  state.track = (query.get("track") ?? "").slice(0, 128);
  state.pins = query.getAll("pin").slice(0, 64);
  state.extent = parseExtent(query.get("follow"));
  const [from, to] = [time(query.get("from")), time(query.get("to"))];
  if (!state.extent && from !== null && to !== null && to > from) state.window = { from, to };
  if (/^\d{1,9}$/.test(query.get("round") ?? "")) state.round = Number(query.get("round"));
  const selected = /^(\d{1,5})\.(\d{1,10})$/.exec(query.get("sel") ?? "");
  if (selected) state.selection = { attempt: Number(selected[1]), id: Number(selected[2]) };
  state.mark = time(query.get("mark"));
  return state;
}

/** The query string of a state, without what is at its default; "" for the page as it first opens. */
export function format(state) {
  const query = new URLSearchParams();
  for (const [name, allowed] of Object.entries(CHOICES)) if (state[name] !== allowed[0]) query.set(name, state[name]);
  if (state.filter) query.set("q", state.filter);
  if (state.track) query.set("track", state.track);
  for (const pin of state.pins) query.append("pin", pin);
  if (state.window) {
    query.set("from", state.window.from);
    query.set("to", state.window.to);
  } else if (state.extent) query.set("follow", extentText(state.extent));
  if (state.round !== null) query.set("round", state.round);
  if (state.selection) query.set("sel", `${state.selection.attempt}.${state.selection.id}`);
  if (state.mark !== null) query.set("mark", state.mark);
  return query.toString();
}
