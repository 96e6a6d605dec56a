// Of what the ways ask for, only the chosen one's is shown; quiet hours are by the reader's own clocks unless they say.

for (const form of document.querySelectorAll("[data-channel]")) {
    const way = form.querySelector("[name=way]");
    const show = () => {
        for (const asked of form.querySelectorAll("[data-way]")) {
            asked.hidden = asked.dataset.way !== way.value;
        }
    };
    const hours = [...form.querySelectorAll("[name=quiet_from], [name=quiet_to]")];
    const zone = form.querySelector("[name=quiet_zone]");
    if (hours.every((each) => !each.value)) {
        hours[0].addEventListener("change", () => { zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone; }, { once: true });
    }
    way.addEventListener("change", show);
    show();
}
