// Reads the binary frames of a run's feed (described in ingest/feed/frames.py) without copying a column.

export const MAGIC = 0x31465752;
export const VERSION = 1;
export const HEADER_BYTES = 64;
export const OPEN_END = 0xffffffff;

export const TYPE = { SPAN: 1, STEP: 3, SAMPLE: 4, FINDING: 5, OPEN: 6, RESYNC: 8, HEARTBEAT: 9, META: 10, GAP: 11, EVENT: 12 };
export const FLAG = { ERROR: 1, ABORTED: 2, NESTED: 4, SLOW: 8 };
export const STEP_FLAG = { CLOSED: 1, SUPERSEDED: 2 };
export const STATES = ["running", "stale", "lost", "finished", "failed", "killed"];
/** States in which a run is over. */
export const ENDED = new Set(["finished", "failed", "killed", "lost"]);
export const KINDS = ["compute", "input", "encode", "transfer", "aggregate", "persist", "apply", "wait", "other"];

const U32 = Uint32Array;
const I32 = Int32Array;
const U16 = Uint16Array;
const F32 = Float32Array;

// Name, array and values per row of each column; "time" and "span" columns are counts of the frame's unit.
const COLUMNS = {
  [TYPE.SPAN]: [
    ["start", U32], ["duration", U32], ["id", U32], ["round", I32], ["lane", U16], ["attempt", U16], ["phase", U16],
    ["flags", U16], ["thread", U16],
  ],
  [TYPE.STEP]: [
    ["begin", U32], ["end", U32], ["index", I32], ["coverage", F32], ["waiting", F32], ["kinds", F32, KINDS.length],
    ["generation", U16], ["trainers", U16], ["flags", U16],
  ],
  [TYPE.SAMPLE]: [["time", U32], ["series", U32], ["value", F32]],
  [TYPE.OPEN]: [
    ["start", U32], ["id", U32], ["round", I32], ["progress", F32], ["lane", U16], ["attempt", U16], ["phase", U16],
    ["thread", U16],
  ],
  [TYPE.HEARTBEAT]: [["heard", U32], ["number", U32], ["error_us", F32], ["lane", U16], ["attempt", U16], ["state", U16]],
  [TYPE.GAP]: [["begin", U32], ["end", U32], ["count", U32], ["lane", U16], ["attempt", U16]],
  [TYPE.EVENT]: [["time", U32], ["id", U32], ["round", I32], ["lane", U16], ["attempt", U16], ["phase", U16], ["thread", U16]],
};

const JSON_TYPES = new Set([TYPE.META, TYPE.FINDING]);
const padded = (bytes) => (bytes + 7) & ~7;

function columnsOf(type, buffer, start, end, count) {
  const columns = {};
  let position = start;
  for (const [name, Column, width = 1] of COLUMNS[type]) {
    const bytes = count * width * Column.BYTES_PER_ELEMENT;
    if (position + bytes > end) throw new RangeError(`column ${name} reaches past its frame`);
    columns[name] = new Column(buffer, position, count * width);
    position += padded(bytes);
  }
  return columns;
}

function frameAt(buffer, view, position) {
  if (position + HEADER_BYTES > buffer.byteLength) throw new RangeError(`half a header at byte ${position}`);
  const bytes = view.getUint32(position + 8, true);
  const version = view.getUint16(position + 4, true);
  if (view.getUint32(position, true) !== MAGIC || version !== VERSION) throw new RangeError(`not a frame at ${position}`);
  if (bytes < HEADER_BYTES || bytes % 8 || position + bytes > buffer.byteLength) throw new RangeError("a frame is cut off");
  return {
    type: view.getUint16(position + 6, true),
    bytes,
    count: view.getUint32(position + 12, true),
    epoch: view.getBigUint64(position + 16, true),
    first: view.getBigUint64(position + 24, true),
    last: view.getBigUint64(position + 32, true),
    base: view.getBigInt64(position + 40, true),
    unit: view.getUint32(position + 48, true),
  };
}

/**
 * The frames of one message: header fields (64-bit ones as BigInt) and `columns` or `json`. Types it does not know are
 * passed over. Throws RangeError where the bytes are not whole frames of this version.
 */
export function decode(buffer) {
  const view = new DataView(buffer);
  const frames = [];
  for (let position = 0; position < buffer.byteLength; ) {
    const frame = frameAt(buffer, view, position);
    const start = position + HEADER_BYTES;
    position += frame.bytes;
    if (COLUMNS[frame.type]) frame.columns = columnsOf(frame.type, buffer, start, position, frame.count);
    else if (JSON_TYPES.has(frame.type)) {
      frame.json = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, start, position - start)));
    } else if (frame.type !== TYPE.RESYNC) continue;
    frames.push(frame);
  }
  return frames;
}

/** A time column in nanoseconds since `origin` (BigInt, Unix ns); NaN stands for "not yet". */
export function relative(frame, column, origin) {
  const offset = Number(frame.base - origin);
  const times = new Float64Array(column.length);
  for (let i = 0; i < column.length; i++) {
    times[i] = column[i] === OPEN_END ? NaN : offset + column[i] * frame.unit;
  }
  return times;
}
