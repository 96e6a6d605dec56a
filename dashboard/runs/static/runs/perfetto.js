// A button with data-perfetto opens the trace at that address in ui.perfetto.dev, by its own protocol for that:
// https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui. The trace goes from this browser to that window
// and nowhere else; where that page cannot be had, the trace can be downloaded and opened in it later.

const PERFETTO = "https://ui.perfetto.dev";
const ASKS_EVERY_MS = 100;
const PATIENCE_MS = 30_000;

const said = document.getElementById("perfetto-said");

function say(text) {
    said.textContent = text;
    said.hidden = !text;
}

/** Resolves once the window says that it listens; rejects where it does not in time, or is closed. */
function listens(perfetto) {
    return new Promise((resolve, reject) => {
        const begun = performance.now();
        const heard = (event) => {
            if (event.source === perfetto && event.origin === PERFETTO && event.data === "PONG") {
                end(resolve);
            }
        };
        const timer = setInterval(() => {
            if (perfetto.closed) {
                end(reject, "Perfetto's window was closed before it had the trace.");
            } else if (performance.now() - begun > PATIENCE_MS) {
                end(reject, "ui.perfetto.dev does not answer from here. Download the trace, and open it there later.");
            } else {
                perfetto.postMessage("PING", "*"); // it tells nothing, and until that page has loaded it is another's
            }
        }, ASKS_EVERY_MS);
        function end(settle, why) {
            clearInterval(timer);
            window.removeEventListener("message", heard);
            settle(why && new Error(why));
        }
        window.addEventListener("message", heard);
    });
}

async function trace(address) {
    const answer = await fetch(address);
    if (!answer.ok) {
        throw new Error("The trace cannot be had any more. Reload this page.");
    }
    return answer.arrayBuffer();
}

async function open(button) {
    const { perfetto: address, title, file } = button.dataset;
    const perfetto = window.open(PERFETTO);
    if (!perfetto) {
        throw new Error("The browser did not let this page open a window. Allow it, or download the trace.");
    }
    say("Handing the trace over to ui.perfetto.dev …");
    const [buffer] = await Promise.all([trace(address), listens(perfetto)]);
    perfetto.postMessage({ perfetto: { buffer, title, fileName: file } }, PERFETTO, [buffer]);
    say("");
}

document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-perfetto]");
    if (!button) {
        return;
    }
    button.disabled = true;
    try {
        await open(button);
    } catch (error) {
        say(error.message);
    } finally {
        button.disabled = false;
    }
});
