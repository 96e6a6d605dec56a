// What plotly is given for one measure: a line for each group of conditions, with whiskers and the figures in words.

const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const MINUTE_S = 60;
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const MOST_SINGLE = 10; // numbers that are counted have a tick each up to so many

/** How a group looks, the same in every chart: a colour, and a symbol that tells it apart without one. */
export function looks(index, series) {
    return { color: series[index % series.length], symbol: SYMBOLS[(index + Math.floor(index / series.length)) % SYMBOLS.length] };
}

/** As the table says it: 156 MiB, 3.0 GiB. */
function bytes(value) {
    const power = value >= 1 ? Math.min(Math.floor(Math.log2(value) / 10), BINARY.length - 1) : 0;
    const shown = value / 1024 ** power;
    return `${shown.toFixed(power && shown < 100 ? 1 : 0)} ${BINARY[power]}`;
}

/** A value in words: 12.3 s, 41 %, 14.8 copies. */
export function words(value, unit) {
    if (value === null || value === undefined) return "–";
    if (unit === "%") return `${Math.round(100 * value)} %`;
    if (unit === "s") {
        if (value < 0.1) return `${Number((1000 * value).toPrecision(3))} ms`;
        return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(1)} s`;
    }
    if (unit === "GiB") return bytes(value * 1024 ** 3);
    return unit ? `${value.toFixed(1)} ${unit}` : `${value}`;
}

/** The unit in which an axis is drawn, and how many of it a measure's own is. */
function scaleOf(unit, spots, at) {
    if (unit === "%") return { factor: 100, suffix: " %" };
    const most = Math.max(0, ...spots.map(({ values }) => values[at][2] ?? values[at][1] ?? 0));
    if (unit === "GiB") return most < 1 ? { factor: 1024, suffix: " MiB" } : { factor: 1, suffix: " GiB" };
    if (unit !== "s") return { factor: 1, suffix: "" };
    if (most < 0.5) return { factor: 1000, suffix: " ms" };
    return most > 10 * MINUTE_S ? { factor: 1 / MINUTE_S, suffix: " min" } : { factor: 1, suffix: " s" };
}

function hint(spot, measure, group, plain) {
    const value = spot.values[measure.at];
    const [low, , high] = value;
    const span = low !== null && high !== null && low < high ? ` (${words(low, measure.unit)} to ${words(high, measure.unit)})` : "";
    const of = (spot.runs > 1 ? `<br>${spot.runs} runs` : "") + (spot.worse ? "<br>worse than usual" : "");
    // Bold would be a style attribute, which the page's policy forbids.
    return `${plain(spot.name)}<br>${words(value[1], measure.unit)}${span}<br>${plain(group)}${of}<br>${spot.at.slice(0, 10)}`;
}

/** Ticks of what is counted: whole numbers, where plotly's own would be between them. */
function whole(values) {
    return Math.max(...values) - Math.min(...values) <= MOST_SINGLE ? { tickmode: "linear", tick0: 0, dtick: 1 } : {};
}

/** A date axis around a single moment, or very few seconds, shows days or minutes, not parts of a second. */
function dates(moments) {
    const [first, last] = [Math.min(...moments), Math.max(...moments)];
    if (!moments.length || last - first >= MINUTE_MS) return { type: "date" };
    const around = first === last ? DAY_MS : MINUTE_MS;
    return { type: "date", range: [first - around, last + around].map((ms) => new Date(ms).toISOString()) };
}

/** {data, layout} of one measure; `at` is its place among the measures, `plain` makes a name plotly's text. */
export function figure(drawn, at, colours, plain) {
    const measure = drawn.measures[at];
    const { factor, suffix } = scaleOf(measure.unit, drawn.spots, at);
    const data = drawn.groups.map((group, index) => {
        const spots = drawn.spots.filter((spot) => spot.group === index && spot.values[at][1] !== null);
        const { color, symbol } = looks(index, colours.series);
        const whisker = (end) => spots.map(({ values }) => Math.abs((values[at][end] ?? values[at][1]) - values[at][1]) * factor);
        return {
            type: "scatter",
            mode: measure.by_trainers ? "markers" : "lines+markers",
            name: plain(group),
            x: spots.map((spot) => (measure.by_trainers ? spot.trainers : spot.at)),
            y: spots.map(({ values }) => values[at][1] * factor),
            error_y: { type: "data", symmetric: false, array: whisker(2), arrayminus: whisker(0), thickness: 1, width: 3, color },
            line: { color, width: 1.5 },
            marker: { color, symbol, size: 8, line: { color: colours.bad, width: spots.map(({ worse }) => (worse ? 2.5 : 0)) } },
            customdata: spots.map(({ href }) => href),
            hovertext: spots.map((spot) => hint(spot, { ...measure, at }, group, plain)),
            hoverinfo: "text",
            showlegend: false,
        };
    });
    const seen = drawn.spots.filter(({ values }) => values[at][1] !== null);
    const trainers = () => ({ title: { text: "trainers" }, ...whole(seen.map((spot) => spot.trainers)) });
    return {
        data: data.filter(({ x }) => x.length),
        layout: {
            hovermode: "closest",
            xaxis: measure.by_trainers ? trainers() : dates(seen.map((spot) => Date.parse(spot.at))),
            yaxis: { rangemode: "tozero", ticksuffix: suffix, ...(measure.unit ? {} : whole([0, ...seen.map(({ values }) => values[at][1])])) },
        },
    };
}
