// Keeps the store equal to the server: a snapshot over HTTP, then everything after its cursor over a websocket.

import { TYPE, decode } from "./frames.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
const SILENCE_MS = 5000;
const GONE = new Set([401, 403, 404]);
const REFUSED = new Set([4401, 4403, 4404]);
const NOT_UNDERSTOOD = 4400;

/** Cursor after some frames: the epoch they carry and the highest place reached in it; both BigInt. */
export function advanced(cursor, frames) {
  for (const { epoch, last } of frames) {
    if (epoch === 0n) continue;
    if (cursor === null || epoch !== cursor.epoch) cursor = { epoch, last };
    else if (last > cursor.last) cursor = { epoch, last };
  }
  return cursor;
}

export class Connection {
  /**
   * `on` hears: snapshot(frames), frames(frames), now(text: Unix ns), state(name, detail). States: loading, live, away,
   * refused (signed out or not ours), outdated (this page's code and the server's frames differ).
   */
  constructor({ snapshotUrl, socketUrl, on }) {
    Object.assign(this, { snapshotUrl, socketUrl, on, cursor: null, base: null, socket: null, tries: 0, received: 0, acknowledged: 0 });
    this.heard = performance.now();
    this.timer = setInterval(() => this.#watch(), 1000);
    addEventListener("online", () => this.#retryNow());
  }

  async start() {
    this.on.state("loading");
    if (await this.#load()) this.#open();
  }

  /** Tells the server that all received so far is on screen; it then may send more. */
  drawn() {
    if (this.acknowledged === this.received || this.socket?.readyState !== WebSocket.OPEN) return;
    this.acknowledged = this.received;
    this.socket.send(JSON.stringify({ ack: this.received }));
  }

  async #load() {
    const frames = await this.#fetch();
    if (!frames) return false;
    this.cursor = advanced(null, frames) ?? { epoch: 0n, last: 0n };
    this.base = frames.find((frame) => frame.json?.base)?.json.base ?? null;
    this.on.snapshot(frames);
    return true;
  }

  /** The snapshot's frames, or null where there are none now; the state then says why. */
  async #fetch() {
    try {
      const answer = await fetch(this.snapshotUrl, { headers: { Accept: "application/octet-stream" }, cache: "no-store" });
      if (GONE.has(answer.status) || answer.redirected) return this.#stop("refused", answer.status);
      if (!answer.ok) throw new Error(`snapshot answered ${answer.status}`);
      return decode(await answer.arrayBuffer());
    } catch (error) {
      if (error instanceof RangeError) this.#stop("outdated", error.message);
      else this.#later();
      return null;
    }
  }

  #open() {
    const socket = new WebSocket(this.socketUrl);
    socket.binaryType = "arraybuffer";
    Object.assign(this, { socket, received: 0, acknowledged: 0 });
    this.heard = performance.now();
    socket.onopen = () => {
      this.tries = 0;
      this.#hello();
      this.on.state("live");
    };
    socket.onmessage = ({ data }) => this.#message(socket, data);
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      if (code === NOT_UNDERSTOOD) this.cursor = null;
      if (REFUSED.has(code)) this.#stop("refused", code);
      else this.#later();
    };
  }

  /** Says where this picture stands: the feed's cursor, and the server's own note on what the picture is based on. */
  #hello() {
    const { epoch, last } = this.cursor;
    const hello = { epoch: String(epoch), last: String(last) };
    if (this.base) hello.base = this.base;
    this.socket.send(JSON.stringify({ hello }));
  }

  #message(socket, data) {
    if (this.socket !== socket) return;
    this.heard = performance.now();
    if (typeof data === "string") {
      const said = JSON.parse(data);
      if (said.now_ns) this.on.now(said.now_ns);
      if (said.base) this.base = said.base;
      return;
    }
    this.received += 1;
    try {
      const frames = decode(data);
      if (frames.some((frame) => frame.type === TYPE.RESYNC)) this.#resync(socket);
      else if (!this.resyncing) {
        this.cursor = advanced(this.cursor, frames);
        this.on.frames(frames);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#stop("outdated", error.message);
    }
  }

  async #resync(socket) {
    this.resyncing = true;
    this.drawn();
    const loaded = await this.#load();
    this.resyncing = false;
    if (!loaded) socket.close();
    else if (this.socket === socket && socket.readyState === WebSocket.OPEN) this.#hello();
  }

  /** A socket that says nothing for 5 s is dead, whatever TCP believes: a live one is heard each second. */
  #watch() {
    const open = this.socket?.readyState === WebSocket.OPEN;
    if (open && !document.hidden && performance.now() - this.heard > SILENCE_MS) {
      const silent = this.socket;
      this.#later();
      silent.close();
    }
  }

  #later() {
    this.socket = null;
    this.on.state("away", { since: this.heard });
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.tries++);
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.#again(), wait * (0.75 + Math.random() / 2));
  }

  #retryNow() {
    if (!this.socket && this.retry) {
      clearTimeout(this.retry);
      this.tries = 0;
      this.#again();
    }
  }

  async #again() {
    this.retry = null;
    if (this.cursor || (await this.#load())) this.#open();
  }

  #stop(state, detail) {
    clearTimeout(this.retry);
    clearInterval(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.on.state(state, detail);
    return null;
  }
}
