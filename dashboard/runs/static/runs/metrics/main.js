// The charts of a run's metrics: each asks for its figures, is drawn, and has the same as a table beside it.

import { chart, plain } from "../../rw/charts.js";
import { chartOf, nameOf, shown } from "./figures.js";

const EVERY_MS = 10_000;
const COLUMNS = ["Line", "Readings", "Last", "Lowest", "Mean", "Highest"];

const page = document.querySelector("[data-part=metrics]");
const part = (section, name) => section.querySelector(`[data-part=${name}]`);

function row(texts, head = false) {
    const made = document.createElement("tr");
    texts.forEach((text, column) => {
        const cell = document.createElement(head || !column ? "th" : "td");
        if (head) cell.scope = "col";
        else if (!column) cell.scope = "row";
        else cell.dataset.label = COLUMNS[column];
        if (column) cell.className = "number";
        cell.textContent = text;
        made.append(cell);
    });
    return made;
}

function table(answer) {
    const made = document.createElement("table");
    made.createTHead().append(row(COLUMNS, true));
    made.createTBody().append(
        ...answer.lines.map((line) =>
            row([
                nameOf(line),
                line.readings.toLocaleString("en") + (line.not_finite ? ` (${line.not_finite} not finite)` : ""),
                ...[line.last, line.low, line.mean, line.high].map((value) => shown(value, answer.metric)),
            ]),
        ),
    );
    return made;
}

function words(answer) {
    if (!answer.lines.length) return "No reading is kept: raw readings are kept for a while only.";
    const said = [];
    if (answer.more) said.push(`${answer.more} more lines are not shown: choose workers`);
    if (answer.cut) said.push("only the newest readings of each line");
    return said.join("; ");
}

async function show(section) {
    const said = part(section, "said");
    try {
        const url = new URL(page.dataset.figures, location.href);
        url.searchParams.set("metric", section.dataset.metric);
        for (const input of page.querySelectorAll("input[name=worker][checked]")) url.searchParams.append("worker", input.value);
        const answer = await fetch(url);
        if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
        const figures = await answer.json();
        said.textContent = words(figures);
        part(section, "table").replaceChildren(table(figures));
        part(section, "chart").hidden = !figures.lines.length;
        if (figures.lines.length) chart(part(section, "chart"), (colours) => chartOf(figures, page.dataset.x, colours, plain));
    } catch {
        said.textContent = "The figures did not come. They are asked for again when the page is loaded again.";
    }
}

async function all() {
    for (const section of page.querySelectorAll("[data-metric]")) await show(section);
}

await all();
if ("live" in page.dataset) {
    setInterval(() => {
        if (!document.hidden) all();
    }, EVERY_MS);
}
