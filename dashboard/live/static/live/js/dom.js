// Builds page elements. Names from outside only ever become text nodes.

/** `el("div", {class: "x", title: "y"}, child, "text")`; null children are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  fill(element, ...children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets text only where it differs, so that nothing is laid out again for nothing. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A coloured square that stands for a kind. */
export function swatch(kind) {
  return el("i", { class: "swatch", "data-kind": kind, "aria-hidden": "true" });
}

/** Fits a canvas to a size in CSS pixels; true where it had to change. The context is scaled to CSS pixels. */
export function fit(canvas, width, height, ratio = devicePixelRatio) {
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width === w && canvas.height === h) return false;
  canvas.width = w;
  canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return true;
}
