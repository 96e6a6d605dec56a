// A part of a page that asks for itself again: it rests in a hidden tab, and the page says when the server is away.

const away = document.getElementById("away");

document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.matches("[hx-trigger^=every]")) {
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
