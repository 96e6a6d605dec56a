// Rounds of several runs side by side: all show the same stretch of seconds from their begin.

import { afterKey, panned, tickText, ticks, zoomed } from "./axis.js";

const section = document.getElementById("gantts");
const together = section?.querySelector("[data-part=together]");

function tick({ x, text }) {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "text");
  drawn.setAttribute("x", `${x}%`);
  drawn.setAttribute("y", "14");
  drawn.setAttribute("text-anchor", x < 3 ? "start" : x > 97 ? "end" : "middle");
  drawn.textContent = text;
  return drawn;
}

function start() {
  const all = Number(section.dataset.axis);
  const pictures = [...together.querySelectorAll(".bars")];
  const axis = section.querySelector("[data-part=axis]");
  const said = section.querySelector("[data-part=said]");
  let view = { from: 0, span: all };
  let dragged = null;

  function show(next, aloud = false) {
    view = next;
    for (const picture of pictures) {
      const [, , , height] = picture.getAttribute("viewBox").split(" ");
      picture.setAttribute("viewBox", `${view.from} 0 ${view.span} ${height}`);
    }
    axis.replaceChildren(...ticks(view).map(tick));
    if (aloud) said.textContent = `${tickText(view.from, view.span)} to ${tickText(view.from + view.span, view.span)}`;
  }

  const box = () => axis.getBoundingClientRect();

  together.addEventListener("keydown", (event) => {
    if (event.target !== together || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = afterKey(view, event.key, all);
    if (!next) return;
    event.preventDefault();
    show(next, true);
  });
  together.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, width } = box();
    show(zoomed(view, event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max((event.clientX - left) / width, 0), 1), all));
  }, { passive: false });
  for (const picture of pictures) {
    picture.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      dragged = { x: event.clientX, from: view };
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      if (dragged) show(panned(dragged.from, (dragged.x - event.clientX) / box().width, all));
    });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (dragged = null));
  }
  show(view);
}

if (together) start();
