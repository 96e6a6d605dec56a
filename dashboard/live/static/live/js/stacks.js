// Thread stacks of a phase's process, in its panel: taken on request while the phase is open, main thread first.

import { AGAIN_MS } from "./detail.js";
import { el, fill } from "./dom.js";
import { whereText } from "./eventwords.js";
import { age, clockTime, duration, isolated, plural } from "./format.js";

const DWELL_MS = 150;
const LOOK_MS = 400;
const PATIENCE_MS = 10_000;
const TAKE = "Take thread stacks";

/** The phase whose stacks stand in the panel: the selected one, or that of an event "stacks"; `more` is its answer. */
export function subjectOf(facts, more) {
  if (!facts?.event) return facts;
  const start = facts.name === "stacks" ? more?.attrs?.start : null;
  return Number.isSafeInteger(start) ? { attempt: facts.attempt, id: start, open: false } : null;
}

/** What is said where nothing came within 10 s; `heard` is how long ago (s) its host was. */
export function silenceText(heard) {
  const ago = `the host's shipper was last heard ${age(heard * 1e9)} ago`;
  return heard < 3 ? `Not answered within 10 s, though ${ago}: its agent may be too old to be asked.` : `Not answered within 10 s: ${ago}.`;
}

/** When they were taken: "taken 12.3 s into the phase, at 10:02:11". */
export function takenText({ after_s: after, time_ns: time }) {
  return `taken ${duration(Math.max(0, after) * 1e9)} into the phase, at ${clockTime(BigInt(time), 1e9)}`;
}

function thread(one, first) {
  const frames = one.frames.map(([file, line, call]) => el("li", {}, el("b", {}, isolated(call)), ` ${isolated(file)}:${line || "?"}`));
  const label = whereText(one);
  return el("details", { open: first }, el("summary", { "aria-label": label }, label), el("ol", {}, frames, one.more > 0 && el("li", { class: "muted" }, `${plural(one.more, "frame")} more`)));
}

function taken(stacks) {
  if (stacks.failed) return el("p", { "data-tone": "warn" }, `This process cannot tell its stacks: ${isolated(stacks.failed)}.`);
  const left = [
    stacks.left_out > 0 && `${plural(stacks.left_out, "thread")} more`,
    stacks.only_main && "Its other threads could not be asked: the main thread is in a call that lets Python do nothing else.",
  ].map((text) => text && el("p", { class: "muted" }, text));
  return [el("p", { class: "muted" }, takenText(stacks)), stacks.threads.map((one, i) => thread(one, i === 0)), left];
}

export class Stacks {
  /** `tell` says a sentence aloud. */
  constructor(url, tell) {
    Object.assign(this, { url, tell, key: "", open: false, said: null, askedAt: null, error: "", shown: "" });
    this.element = el("section", { class: "stacks", "aria-label": "Thread stacks", hidden: true });
  }

  /** The element for the selected phase; `facts` may be null. It keeps itself up to date. */
  draw(facts) {
    const key = facts ? `${facts.attempt}.${facts.id}` : "";
    const open = Boolean(facts?.open);
    if (key === this.key && open === this.open) return this.element;
    if (key !== this.key) Object.assign(this, { said: null, askedAt: null, error: "" });
    Object.assign(this, { key, open });
    this.query = facts && `${this.url}?attempt=${facts.attempt}&start=${facts.id}`;
    this.#write();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#look(), DWELL_MS);
    return this.element;
  }

  async #look() {
    clearTimeout(this.timer);
    const { key } = this;
    if (!key) return;
    const said = await this.#fetch("GET").catch(() => null);
    if (key !== this.key) return;
    if (said) this.said = said;
    if (this.askedAt !== null) this.#judge();
    this.#write();
    clearTimeout(this.timer);
    const wait = this.askedAt === null ? AGAIN_MS : LOOK_MS;
    if (this.open || this.askedAt !== null) this.timer = setTimeout(() => this.#look(), wait);
  }

  /** Whether what was asked for has come, or will not. */
  #judge() {
    const { stacks, heard_s: heard } = this.said;
    if (stacks && stacks.number !== this.before) this.#settle(stacks.failed ? "" : `Thread stacks taken: ${plural(stacks.threads.length, "thread")}`);
    else if (performance.now() - this.askedAt > PATIENCE_MS) this.#settle("", silenceText(heard));
  }

  #settle(told, error = "") {
    Object.assign(this, { askedAt: null, error });
    this.tell(told || error || `This process cannot tell its stacks: ${this.said.stacks.failed}`);
  }

  async #ask() {
    if (this.askedAt !== null) return;
    const { key } = this;
    Object.assign(this, { before: this.said.stacks?.number ?? null, askedAt: performance.now(), error: "" });
    this.#write();
    try {
      const said = await this.#fetch("POST");
      if (key === this.key) this.said = said;
    } catch (error) {
      if (key === this.key) this.#settle("", error.told ?? "The server did not answer.");
    }
    if (key === this.key) this.#look();
  }

  async #fetch(method) {
    const headers = { Accept: "application/json" };
    if (method === "POST") headers["X-CSRFToken"] = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    const answer = await fetch(this.query, { method, headers });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw Object.assign(new Error(), { told: `Not asked: ${said.error?.message ?? `the server says ${answer.status}`}.` });
    return said;
  }

  #write() {
    const { element, said, open, askedAt, error } = this;
    const asking = askedAt !== null;
    const shown = JSON.stringify([this.key, open, asking, error, said?.stacks, said?.may_ask]);
    if (shown === this.shown) return;
    this.shown = shown;
    const { stacks, may_ask: may } = said ?? {};
    element.hidden = !said || !(stacks || open || error);
    if (element.hidden) return;
    const focused = element.contains(document.activeElement);
    const button = open && may && el("button", { type: "button", class: "button", "aria-label": TAKE, "aria-disabled": asking ? "true" : null, click: () => this.#ask() }, asking ? "Asked …" : stacks ? "Take again" : TAKE);
    fill(element,
      el("header", {}, el("h4", {}, "Thread stacks"), button),
      open && !may && !stacks && el("p", { class: "muted" }, "Members of the team can ask this process what its threads are doing; viewers see what they asked for."),
      open && may && !stacks && !asking && !error && el("p", { class: "muted" }, "What is this process doing right now? It is asked once, and works on meanwhile."),
      error && el("p", { "data-tone": "warn" }, error),
      stacks && taken(stacks));
    if (focused) element.querySelector("button")?.focus();
  }
}
