// What a chart and its table are made of: names of lines, axes in the metric's unit, gaps where nothing was read.

const GAP = 4; // a line is broken where nothing was read for so many times the usual
const LEAST_GAP_S = 30;

/** A line's name as people read it: the worker, or the machine by itself, and the device. */
export function nameOf(line) {
    return [line.worker || line.host || "machine", line.device].filter(Boolean).join(" · ");
}

/** How plotly writes values of a metric: {tickformat, ticksuffix}, by its name and unit (a text for plotly). */
export function formatOf(metric, unit) {
    if (metric.endsWith("_ratio")) return { tickformat: ".0%", ticksuffix: "" };
    if (metric.endsWith("_bytes")) return { tickformat: ".3~s", ticksuffix: "B" };
    if (metric.endsWith("_bytes_per_second")) return { tickformat: ".3~s", ticksuffix: "B/s" };
    return { tickformat: "", ticksuffix: unit ? ` ${unit}` : "" };
}

/** Points of a line with a break (null) where it is silent for long, so that no line is drawn over what is not known. */
export function broken(t, values) {
    const steps = t.slice(1).map((time, i) => time - t[i]);
    const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1] ?? 0;
    const x = [];
    const y = [];
    t.forEach((time, i) => {
        if (i && time - t[i - 1] > Math.max(LEAST_GAP_S, GAP * usual)) {
            x.push(time);
            y.push(null);
        }
        x.push(time);
        y.push(values[i]);
    });
    return { x, y };
}

/** A number as a table shows it. */
export function shown(value, metric) {
    if (value === null) return "–";
    if (metric.endsWith("_ratio")) return `${(100 * value).toFixed(1)} %`;
    if (metric.endsWith("_bytes")) return inBytes(value);
    return Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

function inBytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit += 1;
    }
    return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
}

/** Plotly's data and layout of an answer of the server; `by` is "time" or "round", `plain` makes texts for plotly. */
export function chartOf(answer, by, colours, plain) {
    const { tickformat, ticksuffix } = formatOf(answer.metric, plain(answer.unit));
    const data = answer.lines.map((line, number) => {
        const within = line.round.map((round, i) => i).filter((i) => by === "time" || line.round[i] >= 0);
        const x = within.map((i) => (by === "time" ? line.t[i] : line.round[i]));
        const y = within.map((i) => line.value[i]);
        return {
            type: "scatter",
            mode: x.length > 1 ? "lines" : "markers",
            name: plain(nameOf(line)),
            ...(by === "time" ? broken(x, y) : { x, y }),
            line: { width: 1.5, color: colours.series[number % colours.series.length], dash: DASHES[Math.floor(number / colours.series.length) % DASHES.length] },
            marker: { color: colours.series[number % colours.series.length] },
            hovertemplate: "%{y}",
        };
    });
    const title = by === "time" ? "seconds since the run began" : "round";
    return {
        data,
        layout: {
            showlegend: data.length > 1,
            hovermode: "x unified",
            xaxis: { title: { text: title }, rangemode: by === "time" ? "normal" : "tozero", hoverformat: by === "time" ? ",.1f" : "d" },
            yaxis: { tickformat, ticksuffix, exponentformat: "power" },
        },
    };
}

const DASHES = ["solid", "dash", "dot"];
