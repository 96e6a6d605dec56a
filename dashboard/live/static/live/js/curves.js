// Draws a curve and the band around it: what charts and the tracks under lanes share.

const DASH = 1.5;

/** Fills between two rows of values; where either is NaN nothing is drawn. `x(i)` and `y(value)` give places. */
export function band(context, low, high, x, y, colour) {
  context.fillStyle = `${colour}30`;
  for (let i = 0; i + 1 < low.length; i++) {
    if (Number.isNaN(low[i]) || Number.isNaN(low[i + 1])) continue;
    context.beginPath();
    context.moveTo(x(i), y(low[i]));
    context.lineTo(x(i), y(high[i]));
    context.lineTo(x(i + 1), y(high[i + 1]));
    context.lineTo(x(i + 1), y(low[i + 1]));
    context.fill();
  }
}

/** Joins values; a value that is alone is a dash. */
export function line(context, values, x, y, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let joined = false;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) joined = false;
    else if (joined) context.lineTo(x(i), y(value));
    else {
      context.moveTo(x(i) - DASH, y(value));
      context.lineTo(x(i), y(value));
      joined = true;
    }
  });
  context.stroke();
}
