// Searching a run's configuration: rows that hold all words of the search in their path or value stay.

/** Whether a row matches: each word of `search` is in its text, whatever its case. */
export function matches(text, search) {
    const lower = text.toLowerCase();
    return search.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
}

/** Hides rows of `settings` that do not match, and groups without any; returns how many stay. */
export function narrow(settings, search) {
    let shown = 0;
    for (const group of settings.querySelectorAll("[data-group]")) {
        let inGroup = 0;
        for (const row of group.querySelectorAll("[data-setting]")) {
            row.hidden = !matches(`${group.dataset.group}.${row.textContent}`, search);
            inGroup += row.hidden ? 0 : 1;
        }
        group.hidden = !inGroup;
        shown += inGroup;
    }
    return shown;
}

function begin(settings) {
    const search = settings.querySelector("[data-part=search]");
    const said = settings.querySelector("[data-part=said]");
    const look = () => {
        const shown = narrow(settings, search.value);
        said.hidden = !search.value;
        said.textContent = shown ? `${shown} match` : "None matches";
    };
    search?.addEventListener("input", look);
    if (search?.value) look(); // kept by the browser over a reload
}

if (globalThis.document) {
    for (const settings of document.querySelectorAll("[data-part=settings]")) begin(settings);
}
