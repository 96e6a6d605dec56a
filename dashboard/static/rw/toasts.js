// Incidents that open while a page is open: a line in the top bar and, where a person has asked for it, a notification
// of the system. At most one of each in five seconds, however many incidents open.

const EVERY_MS = 5_000;
const HIDDEN_MS = 30_000; // of a page that nobody sees, for the notification alone
const PATIENCE_MS = 60_000; // the longest pause after failures
const MOST_KNOWN = 200;
const PLACE = "roundwatch.news"; // where one was, kept over the pages of a tab
const WANTED = "roundwatch.notify"; // whether notifications of the system are wanted, on all pages

/** What of an answer was not told before; `known` (keys, oldest first) is brought up to date. */
export function fresh(opened, known) {
    const news = opened.filter(({ key }) => !known.includes(key));
    known.push(...news.map(({ key }) => key));
    known.splice(0, Math.max(0, known.length - MOST_KNOWN));
    return news;
}

/** The line of a toast: the newest incident, those that wake somebody first, and how many there are besides. */
export function line(news, inbox) {
    const first = news.findLast(({ page }) => page) ?? news.at(-1);
    const more = news.length - 1;
    return { ...first, more, moreText: more > 0 ? `and ${more} more` : "", inbox };
}

/** When to ask again after so many failures in a row. */
export function pause(failures, hidden = false) {
    return Math.min((hidden ? HIDDEN_MS : EVERY_MS) * 2 ** failures, PATIENCE_MS);
}

function remembered() {
    try {
        const { since, known } = JSON.parse(sessionStorage.getItem(PLACE));
        return Number.isFinite(since) && Array.isArray(known) ? { since, known } : { since: null, known: [] };
    } catch {
        return { since: null, known: [] };
    }
}

/** Asks for news for as long as the page is open, and shows them in `place` (data-news, data-inbox). */
export class Toasts {
    #place;
    #state = remembered();
    #failures = 0;
    #shown = [];
    #timer;

    constructor(place) {
        this.#place = place;
        place.addEventListener("click", (event) => event.target.closest("[data-dismiss]") && this.#dismiss());
        document.addEventListener("visibilitychange", () => !document.hidden && this.run());
    }

    run() {
        this.#ask().finally(() => {
            clearTimeout(this.#timer); // who came back meanwhile is not to wait as long as a hidden page
            this.#timer = setTimeout(() => this.run(), pause(this.#failures, document.hidden));
        });
    }

    async #ask() {
        if (document.hidden && !notified()) return;
        const { since } = this.#state;
        try {
            const answer = await fetch(`${this.#place.dataset.news}${since === null ? "" : `&since=${since}`}`, { redirect: "error" });
            if (!answer.ok) throw new Error(String(answer.status));
            const { now, opened } = await answer.json();
            this.#failures = 0;
            const news = fresh(opened, this.#state.known);
            this.#state.since = now;
            sessionStorage.setItem(PLACE, JSON.stringify(this.#state));
            if (news.length && since !== null) this.#tell(news);
        } catch {
            this.#failures += 1;
        }
    }

    #tell(news) {
        this.#shown.push(...news);
        this.#draw(line(this.#shown, this.#place.dataset.inbox));
        if (document.hidden && notified()) notify(line(news, this.#place.dataset.inbox));
    }

    #draw({ title, url, page, moreText, inbox }) {
        const link = Object.assign(document.createElement("a"), { href: url, textContent: title, className: "toast-what" });
        const more = Object.assign(document.createElement("a"), { href: inbox, textContent: moreText, className: "toast-more" });
        const close = Object.assign(document.createElement("button"), { type: "button", textContent: "×", className: "toast-close" });
        close.setAttribute("aria-label", "Dismiss");
        close.dataset.dismiss = "";
        const toast = Object.assign(document.createElement("p"), { className: "toast" });
        toast.dataset.page = String(page);
        toast.append(link, ...(moreText ? [more] : []), close);
        this.#place.replaceChildren(toast);
    }

    #dismiss() {
        this.#shown = [];
        const focused = this.#place.contains(document.activeElement);
        this.#place.replaceChildren();
        if (focused) document.getElementById("content")?.focus();
    }
}

const able = () => "Notification" in globalThis && globalThis.isSecureContext;
const notified = () => able() && Notification.permission === "granted" && localStorage.getItem(WANTED) === "on";

function notify({ title, url, moreText }) {
    // The tag has several tabs show one.
    const shown = new Notification(title, { body: moreText, tag: url });
    shown.addEventListener("click", () => {
        globalThis.focus();
        globalThis.location.assign(url);
    });
}

/** The button with which a person turns notifications of the system on and off; nobody is asked without it. */
export class Switch {
    #button;

    constructor(button) {
        this.#button = button;
        button.addEventListener("click", () => this.#turn());
        this.#say();
    }

    async #turn() {
        if (notified()) localStorage.setItem(WANTED, "off");
        else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(WANTED, "on");
        this.#say();
    }

    #say() {
        const on = notified();
        this.#button.hidden = false;
        this.#button.disabled = !able() || Notification.permission === "denied";
        this.#button.setAttribute("aria-pressed", String(on));
        const why = !able() ? "need https" : Notification.permission === "denied" ? "blocked by the browser" : on ? "on" : "off";
        this.#button.textContent = `Notifications: ${why}`;
    }
}

if (globalThis.document) {
    const place = document.getElementById("toasts");
    if (place) new Toasts(place).run();
    const button = document.querySelector("[data-notify]");
    if (button) new Switch(button);
}
