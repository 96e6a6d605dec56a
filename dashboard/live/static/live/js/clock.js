// The server's clock as seen from here: what it last said, carried on by this browser's own steady clock.

const KEPT = 30;

export class Clock {
  /** `steady` gives this browser's monotonic time in ms. */
  constructor(steady = () => performance.now()) {
    this.steady = steady;
    this.readings = [];
  }

  /** The server said that its time is `now` (ns since the store's origin). */
  hear(now) {
    this.readings.push(now - this.steady() * 1e6);
    if (this.readings.length > KEPT) this.readings.shift();
  }

  /** Forgets what it heard, as when the origin of times changes. */
  reset() {
    this.readings = [];
  }

  /** Server time now, ns since the origin: of the last readings the one that travelled fastest counts. NaN before one. */
  now() {
    return this.readings.length ? Math.max(...this.readings) + this.steady() * 1e6 : NaN;
  }
}
