// Fetches bytes, and gives up on a server that has gone silent: nothing a page waits for may wait for ever.

export const SILENCE_MS = 10_000;

/**
 * {answer, bytes}: bytes is null where the status is not 2xx. Rejects when `signal` aborts, when nothing at all has come
 * for 10 s (a slow answer of many parts may take longer), and as fetch does.
 */
export async function download(url, { signal, ...options } = {}) {
  const own = new AbortController();
  const abort = () => own.abort();
  if (signal?.aborted) own.abort();
  signal?.addEventListener("abort", abort);
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(abort, SILENCE_MS);
  };
  try {
    heard();
    const answer = await fetch(url, { ...options, signal: own.signal });
    return { answer, bytes: answer.ok ? await bytesOf(answer, heard) : null };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

async function bytesOf(answer, heard) {
  const reader = answer.body.getReader();
  const parts = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    heard();
    parts.push(part.value);
  }
  return new Blob(parts).arrayBuffer();
}
