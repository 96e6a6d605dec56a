// A button with data-copy puts the text of the element it names on the clipboard.

document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) {
        return;
    }
    const text = document.getElementById(button.dataset.copy);
    try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
    } catch {
        // Without a secure origin there is no clipboard; selected, it is one key press away.
        getSelection().selectAllChildren(text);
    }
});
