// Pointer over the lanes: hover, click, drag to pan, Shift-drag to select an area, wheel and pinch to zoom.

const MOVED = 4;
const WHEEL = 0.0015;

export class Pointer {
  /**
   * `on`: hover(point|null), click(point), pan(share), zoom(factor, anchor), area(from, to, done), open(point). Points
   * are {x, y} within the element and {clientX, clientY} of the window.
   */
  constructor(element, on) {
    Object.assign(this, { element, on, pointers: new Map(), drag: null });
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event));
    element.addEventListener("pointercancel", (event) => this.#cancel(event));
    element.addEventListener("pointerleave", () => this.pointers.size || on.hover(null));
    element.addEventListener("dblclick", (event) => on.open(this.#point(event)));
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #point(event) {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, clientX: event.clientX, clientY: event.clientY, width: box.width };
  }

  #down(event) {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, this.#point(event));
    this.drag = { from: this.#point(event), last: this.#point(event), moved: false, area: event.shiftKey };
    this.element.setPointerCapture(event.pointerId);
  }

  #move(event) {
    const point = this.#point(event);
    if (!this.pointers.has(event.pointerId)) return this.on.hover(point);
    if (this.pointers.size === 2) return this.#pinch(event.pointerId, point);
    this.pointers.set(event.pointerId, point);
    if (!this.drag) return undefined;
    if (!this.drag.moved && Math.hypot(point.x - this.drag.from.x, point.y - this.drag.from.y) < MOVED) return undefined;
    this.drag.moved = true;
    if (this.drag.area) this.on.area(this.drag.from, point, false);
    else this.on.pan((this.drag.last.x - point.x) / point.width);
    this.drag.last = point;
    return undefined;
  }

  #pinch(id, point) {
    const other = [...this.pointers].find(([key]) => key !== id)[1];
    const before = Math.abs(this.pointers.get(id).x - other.x);
    const after = Math.abs(point.x - other.x);
    this.pointers.set(id, point);
    this.drag = null;
    if (before > 10 && after > 10) this.on.zoom(before / after, (point.x + other.x) / 2 / point.width);
  }

  #up(event) {
    const point = this.#point(event);
    if (this.drag && this.pointers.size === 1) {
      if (!this.drag.moved) this.on.click(point);
      else if (this.drag.area) this.on.area(this.drag.from, point, true);
    }
    this.#cancel(event);
  }

  #cancel(event) {
    this.pointers.delete(event.pointerId);
    if (!this.pointers.size) this.drag = null;
  }

  /** Plain wheel is the page's own: it scrolls the lanes. */
  #wheel(event) {
    const point = this.#point(event);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.on.zoom(Math.exp(event.deltaY * WHEEL * (event.deltaMode ? 16 : 1)), point.x / point.width);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.on.pan((event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) / point.width);
    }
  }
}
