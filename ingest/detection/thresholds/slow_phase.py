"""The thresholds of phases that are slow while they run that may be set."""

from functools import partial

from ingest.detection.slow_phase import DEFAULT
from ingest.detection.slow_phase.judge import LOST, MISSING, RUN_STALLED, SLOW, STALLED
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_one = partial(threshold, "slow_phase", DEFAULT)
_OPEN = (SLOW, STALLED, MISSING)

SUBJECT = Subject(
    "slow_phase", "Slow phases, while they run",
    "A phase that is still open long after its peers ended it; workers that are stalled, lost or have not begun.",
    (
        _one("ratio", "Ratio to peers",
             "From so many times the lower median of the peers that have finished on an open phase is slow.", unit="×",
             bounds=(1.1, 20), kinds=_OPEN),
        _one("early_ratio", "Ratio at first",
             "The same until five rounds are known, where fewer than six workers do the phase.", unit="×",
             bounds=(1.1, 20), kinds=_OPEN),
        _one("past_ratio", "Ratio to rounds before",
             "Where too few peers have finished: so many times the median of the rounds before.", unit="×",
             bounds=(1.1, 20), kinds=_OPEN),
        _one("sigmas", "Distance from noise",
             "By at least so many standard deviations of the noise it must exceed its peers.", unit="σ",
             bounds=(2, 20), kinds=_OPEN),
        _one("suspect_s", "Amber above", "So far above its reference the bar turns amber; nobody is told.", unit="s",
             bounds=(0.1, 600), kinds=()),
        _one("slow_share", "Slow above, share of the round",
             "So far above its reference, in typical rounds, it is slow, within the two bounds that follow.",
             unit="%", bounds=(0.1, 50), kinds=_OPEN, scale=0.01),
        _one("slow_least_s", "Slow above, at least", "It is never slow before it exceeds its reference by this.",
             unit="s", bounds=(0.1, 5), kinds=_OPEN),
        _one("slow_most_s", "Slow above, at most", "It needs to exceed its reference by no more than this.", unit="s",
             bounds=(5, 3600), kinds=_OPEN),
        _one("stalled_ratio", "Stalled, ratio", "From so many times its reference on it is stalled: somebody is woken.",
             unit="×", bounds=(1.5, 100), kinds=(STALLED,)),
        _one("stalled_s", "Stalled, at least", "And not before it has been slow for so long.", unit="s",
             bounds=(1, 86_400), kinds=(STALLED,)),
        _one("cap_s", "Longest phase", "Where there is nothing to compare with, a phase is slow after so long.",
             unit="s", bounds=(10, 604_800), kinds=(*_OPEN, RUN_STALLED)),
        _one("lost_s", "Lost after",
             "A worker of which nothing was heard for so long is lost: somebody is woken. Its state is shown as lost "
             "after 15 s all the same.", unit="s", bounds=(5, 3600), kinds=(LOST,)),
        _one("run_stalled_s", "Run stalled after", "A run in which no phase has ended for so long stands still.",
             unit="s", bounds=(10, 604_800), kinds=(RUN_STALLED,)),
        _one("run_stalled_rounds", "Run stalled after, rounds", "And not before so many typical rounds have passed.",
             unit="rounds", bounds=(1, 1000), kinds=(RUN_STALLED,)),
    ),
)  # fmt: skip
