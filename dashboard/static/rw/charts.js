// Charts of analysis pages, drawn by plotly. It is five megabytes out of its wheel, so it is fetched when the first
// chart is about to be seen, and by no other page. The page says where it lies: <div data-plotly="{% static … %}">.

const NEAR = "300px"; // how far from the window a chart is drawn
const SERIES = ["compute", "encode", "aggregate", "transfer", "persist", "apply", "input", "other"];
export const CONFIG = {
    responsive: true,
    displaylogo: false,
    // Otherwise a button offers to send what is drawn to its makers' server.
    showSendToCloud: false,
    plotlyServerURL: "",
    displayModeBar: "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage", "sendChartToCloud"],
    scrollZoom: false,
};
// The style element of the maps in plotly's bundle, which nobody draws here: it looks whether that is there already. Its
// text would be refused by the policy of pages, and said in the console.
const STYLE_OF_MAPS = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";
const drawn = new Map(); // place -> how to make its chart

let loading;
let watcher;

/** A name as plotly may show it: it reads <a>, <b> and entities in all of its texts. */
export function plain(text) {
    return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Colours of the page as it looks now; `series` is for lines of data, the same order in every chart. */
export function theme() {
    const style = getComputedStyle(document.documentElement);
    const token = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
        ...Object.fromEntries(
            ["bg", "panel", "line", "text", "muted", "accent", "bad", "warn", "good"].map((name) => [name, token(name)]),
        ),
        series: SERIES.map((kind) => token(`kind-${kind}`)),
        font: token("font"),
    };
}

/** What all charts have in common, with what one of them says of itself; axes are merged one by one. */
export function layoutOf(colours, own = {}) {
    const axis = {
        gridcolor: colours.line,
        linecolor: colours.line,
        zerolinecolor: colours.line,
        automargin: true,
        showspikes: false, // they have a white edge on whatever ground
    };
    return {
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: colours.muted, family: colours.font, size: 12 },
        margin: { l: 8, r: 12, t: 12, b: 8 },
        hoverlabel: { bgcolor: colours.panel, bordercolor: colours.line, font: { color: colours.text }, namelength: -1 },
        legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: colours.text } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: colours.muted, activecolor: colours.text },
        dragmode: "zoom",
        ...own,
        xaxis: { ...axis, ...own.xaxis },
        yaxis: { ...axis, ...own.yaxis },
    };
}

/**
 * Draws into `place`, when it comes near the window, what `make(colours)` returns: {data, layout}, both plotly's; any
 * name in them goes through `plain`. It is made again when the page's colours change. A `place` that was drawn before
 * is drawn anew. `place` says data-chart="waiting", "ready" or "failed".
 */
export function chart(place, make) {
    if (!drawn.size) {
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
        new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
        watcher = new IntersectionObserver(seen, { rootMargin: NEAR });
    }
    drawn.set(place, make);
    place.dataset.chart = "waiting";
    watcher.unobserve(place); // so that it is told of one that is in sight already
    watcher.observe(place);
}

/** Takes a chart away. */
export function erase(place) {
    watcher?.unobserve(place);
    drawn.delete(place);
    globalThis.Plotly?.purge(place);
    delete place.dataset.chart;
}

function seen(entries) {
    for (const { target, isIntersecting } of entries) {
        if (isIntersecting && drawn.has(target)) {
            watcher.unobserve(target);
            draw(target);
        }
    }
}

function again() {
    for (const place of drawn.keys()) {
        if (place.dataset.chart === "ready") draw(place);
    }
}

async function draw(place) {
    try {
        const plotly = await plotlyOf(place);
        const make = drawn.get(place);
        if (!make) return; // taken away meanwhile
        const colours = theme();
        const { data, layout } = make(colours);
        await plotly.react(place, data, layoutOf(colours, layout), CONFIG);
        place.dataset.chart = "ready";
    } catch (error) {
        place.dataset.chart = "failed";
        place.textContent = "This chart could not be drawn; the table has its figures.";
        console.error(error);
    }
}

function plotlyOf(place) {
    loading ??= new Promise((resolve, reject) => {
        const known = document.createElement("meta");
        known.id = STYLE_OF_MAPS;
        const script = document.createElement("script");
        script.src = place.closest("[data-plotly]").dataset.plotly;
        script.onload = () => resolve(globalThis.Plotly);
        script.onerror = () => {
            loading = null; // the next chart tries again
            reject(new Error("plotly did not come"));
        };
        document.head.append(known, script);
    });
    return loading;
}
