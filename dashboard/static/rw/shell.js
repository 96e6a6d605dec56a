// What every page needs: the theme switch, menus that close, and times in the reader's own zone on hover.

const YEAR_SECONDS = 365 * 24 * 3600;

function chooseTheme(name) {
    const root = document.documentElement;
    if (name === "system") {
        delete root.dataset.theme;
    } else {
        root.dataset.theme = name;
    }
    // The server writes it on the html element of the next page, so that no wrong theme flashes up.
    const age = name === "system" ? 0 : YEAR_SECONDS;
    document.cookie = `theme=${name}; path=/; max-age=${age}; samesite=lax`;
    for (const button of document.querySelectorAll("[data-theme-switch] button")) {
        button.setAttribute("aria-pressed", String(button.value === name));
    }
}

function openMenus() {
    return document.querySelectorAll("details.menu[open]");
}

document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-switch] button");
    if (button) {
        chooseTheme(button.value);
    }
    for (const menu of openMenus()) {
        if (!menu.contains(event.target)) {
            menu.open = false;
        }
    }
});

document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") {
        return;
    }
    for (const menu of openMenus()) {
        menu.open = false;
        menu.querySelector("summary").focus();
    }
});

document.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.("time[datetime]");
    if (time) {
        time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
    }
});
