// Keeps the store equal to the server: a snapshot over HTTP, then everything after its cursor over a websocket.

import { download } from "./download.js";
import { TYPE, decode } from "./frames.js";

const FIRST_WAIT_MS = 250;
// Short enough that a server which is back is met, and the view equals the database, within 2 s.
const LONGEST_WAIT_MS = 1000;
const SILENCE_MS = 5000;
const GONE = new Set([401, 403, 404]);
const REFUSED = new Set([4401, 4403, 4404]);
const NOT_UNDERSTOOD = 4400;
// A page that has shown older phases should not lose sight of them, as it would with the small picture it begins with.
const AGAIN_SPANS = 200_000;

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
    Object.assign(this, { snapshotUrl, socketUrl, on, cursor: null, base: null, socket: null, loading: null, tries: 0, received: 0, acknowledged: 0, shown: false });
    this.heard = this.since = performance.now();
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

  /**
   * Loads a snapshot; true once it is shown. One load at a time, and it ends with the socket that asked for it: frames
   * that come meanwhile belong to a picture that is no more.
   */
  async #load() {
    this.loading?.abort();
    const load = new AbortController();
    Object.assign(this, { loading: load, cursor: null });
    const frames = await this.#snapshot(load.signal).catch((error) => this.#failed(load, error));
    if (!frames || this.loading !== load) return false;
    this.loading = null;
    this.cursor = advanced(null, frames) ?? { epoch: 0n, last: 0n };
    this.base = frames.find((frame) => frame.json?.base)?.json.base ?? null;
    this.shown = true;
    this.on.snapshot(frames);
    return true;
  }

  #failed(load, error) {
    if (this.loading !== load) return null;
    if (error instanceof RangeError) return this.#stop("outdated", error.message);
    return this.#later();
  }

  /** The snapshot's frames, or null where this page may not have them. */
  async #snapshot(signal) {
    // Asked as plainly as the page preloads it, or it would be asked twice; the server forbids to keep the answer.
    const url = this.shown ? `${this.snapshotUrl}?spans=${AGAIN_SPANS}` : this.snapshotUrl;
    const { answer, bytes } = await download(url, { signal });
    if (signal.aborted) return null;
    if (GONE.has(answer.status) || answer.redirected) return this.#stop("refused", answer.status);
    if (!bytes) throw new Error(`snapshot answered ${answer.status}`);
    return decode(bytes);
  }

  #open() {
    const socket = new WebSocket(this.socketUrl);
    socket.binaryType = "arraybuffer";
    Object.assign(this, { socket, received: 0, acknowledged: 0, since: performance.now() });
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
    this.heard = this.since = performance.now();
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
      else if (!this.loading) {
        this.cursor = advanced(this.cursor, frames);
        this.on.frames(frames);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#stop("outdated", error.message);
    }
  }

  async #resync(socket) {
    this.drawn();
    if ((await this.#load()) && socket.readyState === WebSocket.OPEN) this.#hello();
  }

  /** A socket that says nothing for 5 s is dead, whatever TCP believes: a live one is heard each second. */
  #watch() {
    if (this.socket && !document.hidden && performance.now() - this.since > SILENCE_MS) this.#later();
  }

  #later() {
    this.#leave();
    this.on.state("away", { since: this.heard });
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.tries++);
    this.retry = setTimeout(() => this.#again(), wait * (0.75 + Math.random() / 2));
    return null;
  }

  /** Lets go of the socket and of whatever was to come over it. */
  #leave() {
    const { socket, loading } = this;
    Object.assign(this, { socket: null, loading: null });
    clearTimeout(this.retry);
    loading?.abort();
    socket?.close();
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
    clearInterval(this.timer);
    this.#leave();
    this.on.state(state, detail);
    return null;
  }
}
