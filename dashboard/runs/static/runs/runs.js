// The list of runs keeps itself current: it rests in a hidden tab, says when the server is away, and `/` searches.

const search = document.getElementById("id_q");
const away = document.getElementById("away");

document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.id === "runs") {
        event.preventDefault();
    }
});

for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.body.addEventListener(name, () => {
        away.hidden = false;
    });
}

document.body.addEventListener("htmx:afterOnLoad", () => {
    away.hidden = true;
});

document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        search.focus();
    }
});
