// Says what is the matter when there is nothing, not yet anything, or no longer anything to see.

import { el, fill } from "./dom.js";
import { age } from "./format.js";

const snippet = (project) => `import roundwatch

run = roundwatch.init(project=${JSON.stringify(project)}, rounds=20)
for r in range(20):
    with run.round(r):
        with run.phase("train"):
            train_local(model)
run.finish()`;

export class Status {
  constructor({ root, banner, empty, unmatched }, on) {
    Object.assign(this, { root, banner, empty, on, state: "loading", detail: null });
    this.unmatched = { element: unmatched, filter: "" };
  }

  set(state, detail = null) {
    this.state = state;
    this.detail = detail;
  }

  /** `filter`: the text that lanes must match, `lanes`: how many do. */
  draw(store, { filter, lanes }) {
    this.root.dataset.state = this.state;
    this.#banner();
    const nothing = this.state !== "loading" && !store.total && ![...store.lanes.values()].some((lane) => lane.open.length);
    this.empty.hidden = !nothing;
    if (nothing && !this.empty.children.length) this.#teach(store.run);
    this.#noMatch(store.lanes.size > 0 && !lanes ? filter : "");
  }

  #noMatch(filter) {
    const { element } = this.unmatched;
    element.hidden = !filter;
    if (!filter || this.unmatched.filter === filter) return;
    this.unmatched.filter = filter;
    fill(element, `No lane matches “${filter}” `, el("button", { type: "button", class: "button", click: () => this.on.clear() }, "Clear"));
  }

  #banner() {
    const [text, tone, action] = this.#words();
    this.banner.hidden = !text;
    if (!text || this.banner.dataset.text === text) return;
    this.banner.dataset.text = text;
    this.banner.dataset.tone = tone;
    fill(this.banner, text, action ? el("a", { href: action.href }, action.label) : null);
  }

  #words() {
    if (this.state === "away") {
      const silence = age((performance.now() - this.detail.since) * 1e6);
      return [`No connection to the server for ${silence}; what you see is that old and will catch up by itself.`, "warn"];
    }
    if (this.state === "refused") {
      return ["The server does not show this run to you any more: you are signed out, or it is another team’s. ", "bad", { href: location.href, label: "Sign in again" }];
    }
    if (this.state === "outdated") return ["The server was updated. ", "warn", { href: location.href, label: "Load this page again" }];
    return ["", ""];
  }

  #teach({ project }) {
    fill(this.empty,
      el("h2", {}, "No phases yet"),
      el("p", {}, "This run is known, but nothing it does has a name yet. Bars appear here as soon as the training enters a phase:"),
      el("pre", {}, el("code", {}, snippet(project ?? "my-project"))),
      el("p", { class: "muted" }, "Nothing after a minute? ", el("code", {}, "roundwatch doctor"), " on the training host says what is collected, what is not, and why."));
  }
}
