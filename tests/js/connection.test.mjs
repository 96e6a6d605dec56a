// The page's connection under faults: no frame may be taken for shown, or left out, because a load and a socket crossed.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Connection } from "../../dashboard/live/static/live/js/connection.js";
import { SILENCE_MS, download } from "../../dashboard/live/static/live/js/download.js";
import { TYPE } from "../../dashboard/live/static/live/js/frames.js";
import { frameBytes, joinBytes, meta, spans } from "./frames_of.mjs";

const at = (last) => ({ first: BigInt(last), last: BigInt(last) });
const news = (id) => joinBytes(spans([{ id, duration: 1 }], at(id)));
const RESYNC = joinBytes(frameBytes(TYPE.RESYNC, [], { count: 0 }));

let sockets, asked, heard;

class Socket {
  static OPEN = 1;
  constructor() {
    Object.assign(this, { readyState: 0, said: [] });
    sockets.push(this);
  }
  send(text) {
    assert.equal(this.readyState, 1, "said into a socket that is not open");
    this.said.push(JSON.parse(text));
  }
  close(code = 1006) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose({ code });
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  get hello() {
    return this.said.findLast((word) => word.hello)?.hello;
  }
}

/** What the browser would give: sockets and answers that come when the test says so. */
function world(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  t.mock.method(globalThis, "fetch", (url, { signal }) => new Promise((answer, refuse) => {
    asked.push({ url, signal, answer: (bytes) => answer(new Response(bytes)), fail: (status) => answer(new Response("", { status })) });
    signal.addEventListener("abort", () => refuse(signal.reason));
  }));
}

beforeEach(() => {
  [sockets, asked, heard] = [[], [], []];
  globalThis.WebSocket = Socket;
  globalThis.document = { hidden: false };
  globalThis.addEventListener = () => {};
});

const settle = () => new Promise((done) => setImmediate(done));
const snapshotAt = (last) => joinBytes(meta({ base: { at: last } }, at(last)));

async function connected(t) {
  world(t);
  const ids = (frames) => frames.flatMap((frame) => [...(frame.columns?.id ?? [])]);
  const on = {
    snapshot: (frames) => heard.push(["snapshot", Number(frames[0].last)]),
    frames: (frames) => heard.push(["frames", ...ids(frames)]),
    now: () => {},
    state: (name) => heard.push([name]),
  };
  const connection = new Connection({ snapshotUrl: "http://x/snapshot", socketUrl: "ws://x", on });
  connection.start();
  asked[0].answer(snapshotAt(10));
  await settle();
  sockets[0].open();
  heard = [];
  return connection;
}

test("it says hello with the snapshot's cursor and hands on what follows", async (t) => {
  await connected(t);
  assert.deepEqual(sockets[0].hello, { epoch: "7", last: "10", base: { at: 10 } });
  sockets[0].onmessage({ data: news(11) });
  assert.deepEqual(heard, [["frames", 11]]);
});

test("a page begins with the small picture that it has preloaded, and asks for more once older phases may be in sight", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  assert.deepEqual(asked.map(({ url }) => url), ["http://x/snapshot", "http://x/snapshot?spans=200000"]);
});

test("a resync loads a snapshot, takes nothing meanwhile, and says hello again on the same socket", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  sockets[0].onmessage({ data: news(20) });
  asked[1].answer(snapshotAt(30));
  await settle();
  assert.equal(sockets[0].hello.last, "30");
  sockets[0].onmessage({ data: news(31) });
  assert.deepEqual(heard, [["snapshot", 30], ["frames", 31]]);
});

test("a socket that dies during a resync takes its load with it, and the next picture comes before the next socket", async (t) => {
  const connection = await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  sockets[0].close();
  assert.ok(asked[1].signal.aborted, "nobody waits for a snapshot of a dead socket");
  t.mock.timers.tick(1000);
  await settle();
  assert.equal(sockets.length, 1, "no socket without a picture to add to");
  asked[1].answer(snapshotAt(30));
  await settle();
  assert.deepEqual(heard, [["away"]], "an answer that comes too late is not shown");
  asked[2].answer(snapshotAt(40));
  await settle();
  sockets[1].open();
  assert.equal(sockets[1].hello.last, "40");
  sockets[1].onmessage({ data: news(41) });
  assert.deepEqual(heard, [["away"], ["snapshot", 40], ["live"], ["frames", 41]]);
  assert.equal(connection.cursor.last, 41n);
});

test("a resync that the server cannot answer closes the socket and begins with a picture", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  asked[1].fail(503);
  await settle();
  assert.equal(sockets[0].readyState, 3);
  t.mock.timers.tick(1000);
  assert.deepEqual([asked.length, sockets.length], [3, 1]);
});

test("without a resync a new socket goes on from where the last one ended, without a snapshot", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: news(11) });
  sockets[0].close();
  t.mock.timers.tick(1000);
  sockets[1].open();
  assert.equal(sockets[1].hello.last, "11");
  assert.equal(asked.length, 1);
});

test("a snapshot that never comes is given up and asked for again", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  t.mock.timers.tick(SILENCE_MS);
  await settle();
  assert.ok(asked[1].signal.aborted);
  assert.deepEqual(heard, [["away"]]);
  t.mock.timers.tick(1000);
  assert.equal(asked.length, 3);
});

test("a socket that neither opens nor closes is left for another", async (t) => {
  await connected(t);
  sockets[0].close();
  t.mock.timers.tick(1000);
  const start = performance.now();
  t.mock.method(performance, "now", () => start + 6000);
  t.mock.timers.tick(1000);
  assert.equal(sockets[1].readyState, 3);
});

test("a run that is not ours any more ends it for good, also during a resync", async (t) => {
  await connected(t);
  sockets[0].onmessage({ data: RESYNC });
  asked[1].fail(404);
  await settle();
  t.mock.timers.tick(60_000);
  assert.deepEqual([heard, asked.length, sockets.length], [[["refused"]], 2, 1]);
});

test("a download of many parts may take long, but not fall silent", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let part;
  t.mock.method(globalThis, "fetch", async (url, { signal }) => {
    const body = new ReadableStream({
      start: (controller) => {
        part = (byte) => controller.enqueue(Uint8Array.of(byte));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body);
  });
  const done = download("http://x/");
  const refused = assert.rejects(done, { name: "AbortError" });
  for (const byte of [1, 2, 3]) {
    await settle();
    part(byte);
    await settle();
    t.mock.timers.tick(SILENCE_MS - 1);
  }
  t.mock.timers.tick(1);
  await refused;
});

test("a server that is back is met within 1.25 s, however long it was away", async (t) => {
  await connected(t);
  for (let tries = 1; tries < 12; tries++) {
    sockets.at(-1).close();
    t.mock.timers.tick(1250);
    await settle();
    assert.equal(sockets.length, tries + 1, `try ${tries}`);
  }
});
