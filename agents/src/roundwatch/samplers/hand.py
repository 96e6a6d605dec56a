"""A sampler in a thread of its own, so that one whose hardware hangs holds up nobody."""

import queue
import threading
import time
from collections.abc import Callable

from roundwatch.samplers.base import Reading, Sampler, Waiting

Answer = list[Reading] | Exception


class Hand:
    """Asks one sampler, and gives what it answered when it has.

    While it has not answered it is not asked again, nor while it says that nothing is due. Its thread begins with the
    first question and ends with `close`, or with its process. One thread uses a Hand.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._due: Callable[[], bool] = sampler.due if isinstance(sampler, Waiting) else lambda: True
        self._questions: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._asked_at: float | None = None

    @property
    def waited_s(self) -> float:
        """For how long the sampler has owed an answer."""
        return 0.0 if self._asked_at is None else time.monotonic() - self._asked_at

    @property
    def owes(self) -> bool:
        """Whether the sampler was asked and has not answered; one for which nothing is due is not asked."""
        return self._asked_at is not None

    def ask(self) -> None:
        """Has the sampler read, unless it still does or nothing is due."""
        if self._asked_at is not None or not self._due():
            return
        if self._thread is None:
            name = f"roundwatch-{self.sampler.name}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()
        self._asked_at = time.monotonic()
        self._questions.put(True)

    def answer(self, deadline: float) -> Answer | None:
        """What was read, or what it raised; None where nothing was asked, or nothing came by `deadline` (monotonic)."""
        if self._asked_at is None:
            return None
        try:
            answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        self._asked_at = None
        return answer

    def close(self, timeout_s: float) -> None:
        """Ends the thread, and waits for that as long as the sampler is not stuck."""
        if self._thread is not None:
            self._questions.put(False)
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while self._questions.get():
            try:
                self._answers.put(list(self.sampler.read()))
            except Exception as error:  # noqa: BLE001 - it is told where it was asked
                self._answers.put(error)
