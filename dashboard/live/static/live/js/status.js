// Says what is the matter when there is nothing, not yet anything, or no longer anything to see.

import { el, fill } from "./dom.js";
import { duration } from "./format.js";

const snippet = (project) => `import roundwatch

run = roundwatch.init(project=${JSON.stringify(project)}, rounds=20)
for r in range(20):
    with run.round(r):
        with run.phase("train"):
            train_local(model)
run.finish()`;

export class Status {
  constructor({ root, banner, empty }) {
    Object.assign(this, { root, banner, empty, state: "loading", detail: null });
  }

  set(state, detail = null) {
    this.state = state;
    this.detail = detail;
  }

  draw(store) {
    this.root.dataset.state = this.state;
    this.#banner();
    const nothing = this.state !== "loading" && !store.total && ![...store.lanes.values()].some((lane) => lane.open.length);
    this.empty.hidden = !nothing;
    if (nothing && !this.empty.children.length) this.#teach(store.run);
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
      const age = duration(Math.floor((performance.now() - this.detail.since) / 1000) * 1e9 || 0);
      return [`No connection to the server since ${age}. What you see is as old; it will catch up by itself.`, "warn"];
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
