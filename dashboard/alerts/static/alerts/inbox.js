// The inbox is worked through by keyboard: j and k move, letters do what the buttons do.

const KEPT = "roundwatch.alert";
const DOES = { a: "acknowledge", s: "silence", r: "resolve", o: "reopen" };

const leads = () => [...document.querySelectorAll("[data-alert]")];
const current = () => document.activeElement?.closest("tr")?.querySelector("[data-alert]") ?? null;

function move(step) {
    const all = leads();
    const at = all.indexOf(current());
    all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + step))]?.focus();
}

/** What comes into the place of a row that a change moves away is looked at next; what is opened again stays looked at. */
function keep(row, act) {
    const at = [...row.parentElement.children].indexOf(row);
    sessionStorage.setItem(KEPT, JSON.stringify({ at, id: act === DOES.o ? row.querySelector("[data-alert]").id : null }));
}

function kept() {
    const { at, id } = JSON.parse(sessionStorage.getItem(KEPT));
    sessionStorage.removeItem(KEPT);
    const all = leads();
    return all.find((lead) => lead.id === id) ?? all[Math.min(at, all.length - 1)];
}

document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) {
        return;
    }
    if (event.key === "j" || event.key === "k") {
        move(event.key === "j" ? 1 : -1);
    } else if (event.key in DOES) {
        current()?.closest("tr").querySelector(`button[value="${DOES[event.key]}"]`)?.click();
    }
});

document.addEventListener("submit", (event) => {
    const row = event.submitter?.closest("tr");
    if (row) {
        keep(row, event.submitter.value);
    }
});

document.querySelector("[data-filters]").addEventListener("change", (event) => event.currentTarget.requestSubmit());

if (sessionStorage.getItem(KEPT) !== null) {
    kept()?.focus();
}
