// What plotly is given for one measure: a line for each group of conditions, with whiskers and the figures in words.

const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
const MINUTE_S = 60;

/** How a group looks, the same in every chart: a colour, and a symbol that tells it apart without one. */
export function looks(index, series) {
    return { color: series[index % series.length], symbol: SYMBOLS[(index + Math.floor(index / series.length)) % SYMBOLS.length] };
}

/** A value in words: 12.3 s, 41 %, 14.8 copies. */
export function words(value, unit) {
    if (value === null || value === undefined) return "–";
    if (unit === "%") return `${Math.round(100 * value)} %`;
    if (unit === "s") {
        if (value < 0.1) return `${Number((1000 * value).toPrecision(3))} ms`;
        return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(1)} s`;
    }
    return unit ? `${value.toFixed(1)} ${unit}` : `${value}`;
}

/** The unit in which an axis of seconds is drawn, and how many of it a second is. */
function scaleOf(unit, spots, at) {
    if (unit === "%") return { factor: 100, suffix: " %" };
    if (unit !== "s") return { factor: 1, suffix: unit === "GiB" ? " GiB" : "" };
    const most = Math.max(0, ...spots.map(({ values }) => values[at][2] ?? values[at][1] ?? 0));
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
    return {
        data: data.filter(({ x }) => x.length),
        layout: {
            hovermode: "closest",
            xaxis: measure.by_trainers ? { title: { text: "trainers" }, tickformat: "d" } : { type: "date" },
            yaxis: { rangemode: "tozero", ticksuffix: suffix },
        },
    };
}
