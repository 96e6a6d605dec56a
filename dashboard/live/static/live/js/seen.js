// Which spans are known: a set of (attempt, start number) that costs 8 bytes an entry where a Set would cost fifty.

const EMPTY = -1;

const keyOf = (attempt, id) => attempt * 0x100000000 + id;
const hashOf = (attempt, id) => (Math.imul(id, 0x9e3779b1) ^ Math.imul(attempt + 1, 0x85ebca6b)) >>> 0;

export class Seen {
  constructor(capacity = 1 << 12) {
    this.size = 0;
    this.keys = new Float64Array(capacity).fill(EMPTY);
  }

  has(attempt, id) {
    return this.keys[this.#slot(attempt, id)] !== EMPTY;
  }

  /** Adds the pair; false where it was known. */
  add(attempt, id) {
    const slot = this.#slot(attempt, id);
    if (this.keys[slot] !== EMPTY) return false;
    this.keys[slot] = keyOf(attempt, id);
    this.size += 1;
    if (this.size * 2 > this.keys.length) this.#grow();
    return true;
  }

  #slot(attempt, id) {
    const mask = this.keys.length - 1;
    const key = keyOf(attempt, id);
    let slot = (hashOf(attempt, id) ^ (hashOf(attempt, id) >>> 15)) & mask;
    while (this.keys[slot] !== EMPTY && this.keys[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  #grow() {
    const old = this.keys;
    this.keys = new Float64Array(old.length * 2).fill(EMPTY);
    for (const key of old) {
      if (key === EMPTY) continue;
      const attempt = Math.floor(key / 0x100000000);
      this.keys[this.#slot(attempt, key - attempt * 0x100000000)] = key;
    }
  }
}
