// The trends page: a chart for each measure, one legend for all, and points that lead to their run or week.

import { chart, plain, theme } from "../../rw/charts.js";
import { figure, looks } from "./traces.js";

const MARKS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", cross: "✚", x: "✖", star: "★", "triangle-down": "▼" };
const form = document.getElementById("trend-filters");
const source = document.getElementById("drawn");

form.addEventListener("change", (event) => {
    // A date is typed part by part, and each part is a change.
    if (event.target.type !== "date") form.requestSubmit();
});
form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) {
        if (!value) formData.delete(name);
    }
});

if (source) {
    const drawn = JSON.parse(source.textContent);
    const places = [...document.querySelectorAll("[data-measure]")];
    for (const place of places) {
        const at = drawn.measures.findIndex(({ key }) => key === place.dataset.measure);
        place.setAttribute("role", "img");
        place.setAttribute("aria-label", `${drawn.measures[at].title}; the table has its figures`);
        chart(place, (colours) => {
            legend(drawn.groups, colours);
            return figure(drawn, at, colours, plain);
        });
        new MutationObserver(() => leads(place)).observe(place, { attributeFilter: ["data-chart"] });
    }
    legend(drawn.groups, theme());
}

function leads(place) {
    if (place.dataset.chart !== "ready" || place.dataset.leads) return;
    place.dataset.leads = "yes";
    place.on("plotly_click", ({ points, event }) => {
        const href = points[0].customdata;
        if (event.ctrlKey || event.metaKey) open(href, "_blank", "noopener");
        else location.assign(href);
    });
}

function legend(groups, colours) {
    const list = document.querySelector("[data-part=groups]");
    list.replaceChildren(
        ...groups.map((group, index) => {
            const { color, symbol } = looks(index, colours.series);
            const mark = document.createElement("span");
            mark.textContent = MARKS[symbol];
            mark.style.color = color;
            mark.setAttribute("aria-hidden", "true");
            const name = document.createElement("bdi");
            name.textContent = group;
            const item = document.createElement("li");
            item.append(mark, name);
            return item;
        }),
    );
}
