// A label that opens what its figure means: definition, denominator and number of rounds, by mouse and by keyboard.

import { el } from "./dom.js";

const WIDTH = 336;
let made = 0;

function place(button, card) {
  const box = button.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(box.left, innerWidth - WIDTH))}px`;
  const below = box.bottom < innerHeight * 0.6;
  card.style.top = below ? `${box.bottom + 6}px` : "auto";
  card.style.bottom = below ? "auto" : `${innerHeight - box.top + 6}px`;
}

/** {button, card}: both belong on the page, the card wherever it may stand in it. */
export function definition(label = "", text = "", attributes = {}) {
  const id = `definition-${made++}`;
  const button = el("button", { type: "button", class: "figure-label", popovertarget: id, ...attributes }, label);
  const card = el("div", { id, class: "definition", popover: "auto" }, text);
  card.addEventListener("beforetoggle", () => place(button, card));
  return { button, card };
}
