// The keyboard: which key does what, for the handler and for the help that lists it.

// [keys, action, what the help says]; an action is a method of the page's `Actions`, with arguments after it.
export const KEYS = [
  [["w"], ["zoom", 0.8], "zoom in"],
  [["s"], ["zoom", 1.25], "zoom out"],
  [["a"], ["pan", -0.15], "earlier"],
  [["d"], ["pan", 0.15], "later"],
  [["ArrowLeft"], ["step", -1, 0], "phase before, on the same lane"],
  [["ArrowRight"], ["step", 1, 0], "phase after, on the same lane"],
  [["ArrowUp"], ["step", 0, -1], "lane above"],
  [["ArrowDown"], ["step", 0, 1], "lane below"],
  [["["], ["round", -1], "round or step before"],
  [["]"], ["round", 1], "round or step after"],
  [["f"], ["fit"], "fit the selected phase or round"],
  [["0"], ["extent", { all: true }], "the whole run"],
  [["l"], ["follow"], "follow the newest"],
  [[" "], ["toggle"], "pause or follow"],
  [["/"], ["search"], "filter lanes"],
  [["g"], ["cycle", "group"], "group by machine, or not"],
  [["o"], ["cycle", "sort"], "sort by name, slowest first or arrival"],
  [["r"], ["cycle", "rows"], "height of lanes"],
  [["u"], ["reading"], "choose a reading to draw under the lanes"],
  [["p"], ["pin"], "pin the selected lane to the top"],
  [["m"], ["mark"], "mark the time under the pointer"],
  [["c"], ["link"], "copy a link to the selected phase, or to what is in sight"],
  [["t"], ["flip", "table"], "table of phases"],
  [["e"], ["flip", "ranks"], "each rank or worker of the round or step: what it did, waits apart"],
  [["?"], ["help"], "this help"],
  [["Escape"], ["escape"], "close, deselect"],
];

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc" };

export const keyName = (key) => NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);

const TYPES = "input, select, textarea, [contenteditable]";
const PRESSES = "button, a, summary, [popover]";

/** The action of a key press, or null where the press belongs to something else. */
export function actionOf(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (target.closest?.("dialog[open], [role=menu]")) return null;
  if (target.matches?.(TYPES) && key !== "Escape") return null;
  if (key === " " && target.matches?.(PRESSES)) return null;
  const wanted = key.length === 1 ? key.toLowerCase() : key;
  return KEYS.find(([keys]) => keys.includes(wanted))?.[1] ?? null;
}

export function listen(actions) {
  addEventListener("keydown", (event) => {
    const action = actionOf(event);
    // Escape closes what is open over the page before it undoes anything.
    if (!action || (event.key === "Escape" && document.querySelector(":popover-open"))) return;
    const [name, ...rest] = action;
    event.preventDefault();
    actions[name](...rest);
  });
}
