// The list of runs by keyboard: `/` searches, `j` and `k` move, `x` chooses, `s` stars. What is chosen, and an open menu,
// outlive the list's own refreshes.

const search = document.getElementById("id_q");
const form = document.getElementById("acts");
const chosen = new Set();

function boxes() {
    return [...document.querySelectorAll("#runs input[name=run]")];
}

function show() {
    for (const box of boxes()) {
        box.checked = chosen.has(box.value);
    }
    const count = boxes().filter((box) => box.checked).length;
    document.getElementById("how-many").textContent = `${count} chosen`;
    form.classList.toggle("some", count > 0);
}

function links() {
    return [...document.querySelectorAll("#runs .name a")];
}

function move(by) {
    const all = links();
    const here = all.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by;
    all[Math.max(0, Math.min(all.length - 1, next))]?.focus();
}

const keys = {
    "/": () => search.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: (row) => row?.querySelector("input[name=run]")?.click(),
    s: (row) => row?.querySelector(".star")?.click(),
    Escape: () => {
        chosen.clear();
        show();
    },
};

document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    const menu = event.target.closest(".menu[open]");
    if (typing || menu || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) {
        return;
    }
    if (event.key !== "Escape") {
        event.preventDefault();
    }
    keys[event.key](event.target.closest("#runs tbody tr"));
});

let last = null;

document.addEventListener("click", (event) => {
    const box = event.target.closest("#runs input[name=run]");
    if (!box) {
        return;
    }
    // With Shift, all from the one before to this one.
    const all = boxes();
    const from = event.shiftKey ? all.findIndex((one) => one.value === last) : -1;
    const to = all.indexOf(box);
    for (const one of from < 0 ? [box] : all.slice(Math.min(from, to), Math.max(from, to) + 1)) {
        if (box.checked) {
            chosen.add(one.value);
        } else {
            chosen.delete(one.value);
        }
    }
    last = box.value;
    show();
});

document.getElementById("choose-none").addEventListener("click", (event) => {
    event.preventDefault();
    chosen.clear();
    show();
});

document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.id === "runs" && event.detail.elt.querySelector(".menu[open]")) {
        event.preventDefault();
    }
});

document.body.addEventListener("htmx:afterSettle", () => {
    const listed = new Set(boxes().map((box) => box.value));
    for (const key of chosen) {
        if (!listed.has(key)) {
            chosen.delete(key);
        }
    }
    show();
});

// A browser that comes back to the page has boxes checked, of which nothing is known here yet.
for (const box of boxes()) {
    if (box.checked) {
        chosen.add(box.value);
    }
}
show();
