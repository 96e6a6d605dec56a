// Of what the ways ask for, only the chosen one's is shown.

for (const form of document.querySelectorAll("[data-channel]")) {
    const way = form.querySelector("[name=way]");
    const show = () => {
        for (const asked of form.querySelectorAll("[data-way]")) {
            asked.hidden = asked.dataset.way !== way.value;
        }
    };
    way.addEventListener("change", show);
    show();
}
