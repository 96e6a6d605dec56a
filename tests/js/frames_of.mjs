// Builds the bytes of frames for tests: the opposite of what the page's decoder does, laid out as ingest/feed/frames.py says.

import { HEADER_BYTES, MAGIC, OPEN_END, TYPE, VERSION, decode } from "../../dashboard/live/static/live/js/frames.js";

export const BASE = 1_790_000_000_000_000_000n;

const SHAPES = {
  [TYPE.SPAN]: [["start", "U32"], ["duration", "U32"], ["id", "U32"], ["round", "I32"], ["lane", "U16"], ["attempt", "U16"], ["phase", "U16"], ["flags", "U16"], ["thread", "U16"]],
  [TYPE.STEP]: [["begin", "U32"], ["end", "U32"], ["index", "I32"], ["coverage", "F32"], ["waiting", "F32"], ["kinds", "F32"], ["generation", "U16"], ["trainers", "U16"], ["flags", "U16"]],
  [TYPE.SAMPLE]: [["time", "U32"], ["series", "U32"], ["value", "F32"]],
  [TYPE.OPEN]: [["start", "U32"], ["id", "U32"], ["round", "I32"], ["progress", "F32"], ["lane", "U16"], ["attempt", "U16"], ["phase", "U16"], ["thread", "U16"]],
  [TYPE.HEARTBEAT]: [["heard", "U32"], ["number", "U32"], ["error_us", "F32"], ["lane", "U16"], ["attempt", "U16"], ["state", "U16"]],
  [TYPE.GAP]: [["begin", "U32"], ["end", "U32"], ["count", "U32"], ["lane", "U16"], ["attempt", "U16"]],
  [TYPE.EVENT]: [["time", "U32"], ["id", "U32"], ["round", "I32"], ["lane", "U16"], ["attempt", "U16"], ["phase", "U16"], ["thread", "U16"]],
};
const ARRAYS = { U32: Uint32Array, I32: Int32Array, F32: Float32Array, U16: Uint16Array };

/** Bytes of one frame; `body` is a list of Uint8Array already padded to 8. */
export function frameBytes(type, body, { count = 1, epoch = 7n, first = 1n, last = 1n, base = BASE, unit = 1000 } = {}) {
  const length = HEADER_BYTES + body.reduce((sum, part) => sum + part.length, 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, type, true);
  view.setUint32(8, length, true);
  view.setUint32(12, count, true);
  view.setBigUint64(16, epoch, true);
  view.setBigUint64(24, first, true);
  view.setBigUint64(32, last, true);
  view.setBigInt64(40, base, true);
  view.setUint32(48, unit, true);
  let position = HEADER_BYTES;
  for (const part of body) {
    bytes.set(part, position);
    position += part.length;
  }
  return bytes;
}

/** Bytes of a columnar frame from rows; times and durations in units (us), a missing field is 0, null is "not yet". */
export function rowsBytes(type, rows, header = {}) {
  const body = SHAPES[type].map(([name, form]) => {
    const values = rows.flatMap((row) => (row[name] === null ? OPEN_END : (row[name] ?? 0)));
    const column = new Uint8Array(ARRAYS[form].from(values).buffer);
    const padded = new Uint8Array((column.length + 7) & ~7);
    padded.set(column);
    return padded;
  });
  return frameBytes(type, body, { count: rows.length, ...header });
}

export function jsonBytes(type, payload, header = {}) {
  const text = new TextEncoder().encode(JSON.stringify(payload));
  const padded = new Uint8Array((text.length + 7) & ~7).fill(32);
  padded.set(text);
  return frameBytes(type, [padded], header);
}

export function joinBytes(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts) {
    all.set(part, position);
    position += part.length;
  }
  return all.buffer;
}

/** Decoded frames of one message. */
export const message = (...parts) => decode(joinBytes(...parts));

export const spans = (rows, header) => rowsBytes(TYPE.SPAN, rows, header);
export const opens = (rows, header) => rowsBytes(TYPE.OPEN, rows, header);
export const beats = (rows, header) => rowsBytes(TYPE.HEARTBEAT, rows, header);
export const steps = (rows, header) => rowsBytes(TYPE.STEP, rows, header);
export const samples = (rows, header) => rowsBytes(TYPE.SAMPLE, rows, header);
export const events = (rows, header) => rowsBytes(TYPE.EVENT, rows, header);
export const gaps = (rows, header) => rowsBytes(TYPE.GAP, rows, header);
export const meta = (payload, header) => jsonBytes(TYPE.META, payload, header);
export const findings = (payload, header) => jsonBytes(TYPE.FINDING, payload, header);

/** Numbers that look random and are the same in every run. */
export function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x100000000) * below);
  };
}
