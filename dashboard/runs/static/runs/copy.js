// A button with data-copy puts the text of the element it names on the clipboard.

for (const button of document.querySelectorAll("[data-copy]")) {
    const text = document.getElementById(button.dataset.copy);
    button.addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(text.textContent);
            button.textContent = "Copied";
        } catch {
            // Without a secure origin there is no clipboard; selected, it is one key press away.
            getSelection().selectAllChildren(text);
        }
    });
}
