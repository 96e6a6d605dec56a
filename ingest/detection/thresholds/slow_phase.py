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
    "A phase that is still open long after its peers ended it; workers that are stalled, lost or have not begun. The "
    "reference of an open phase is the lower median of the peers that finished it in this round or, where too few "
    "have, the median of its last ten rounds. Stalled phases, lost workers and stalled runs are critical, and the "
    "default alert rules wake somebody for them.",
    (
        _one("ratio", "Ratio to peers",
             "An open phase is called slow when it has taken at least this many times the lower median of the peers "
             "that finished. It must also pass the thresholds for noise and excess below.", unit="×",
             bounds=(1.1, 20), kinds=_OPEN),
        _one("early_ratio", "Ratio at first",
             "This ratio holds instead while fewer than five earlier rounds of the phase are known and fewer than six "
             "workers do it.", unit="×", bounds=(1.1, 20), kinds=_OPEN),
        _one("past_ratio", "Ratio to rounds before",
             "This ratio holds instead where too few peers have finished: the phase is then compared with the median "
             "of its last ten rounds.", unit="×", bounds=(1.1, 20), kinds=_OPEN),
        _one("sigmas", "Distance from noise",
             "An open phase is called slow only when it exceeds its peers by at least this many standard deviations "
             "of the phase's usual noise, as far as that is known.", unit="σ", bounds=(2, 20), kinds=_OPEN),
        _one("suspect_s", "Amber above",
             "The bar of an open phase turns amber when the phase reaches its ratio and exceeds its reference by at "
             "least this. Nobody is told. A value above the excess at which the phase is slow has no effect: the bar "
             "then shows slow at once.", unit="s", bounds=(0.1, 600), kinds=()),
        _one("slow_share", "Excess, share of the round",
             "An open phase is called slow only when it exceeds its reference by at least this share of a typical "
             "round, within the two bounds that follow.", unit="%", bounds=(0.1, 50), kinds=_OPEN, scale=0.01),
        _one("slow_least_s", "Excess, at least",
             "A phase that exceeds its reference by less than this is never slow, however short the round.",
             unit="s", bounds=(0.1, 5), kinds=_OPEN),
        _one("slow_most_s", "Excess, at most",
             "A phase never needs to exceed its reference by more than this to be slow, however long the round.",
             unit="s", bounds=(5, 3600), kinds=_OPEN),
        _one("stalled_ratio", "Stalled, ratio",
             "A slow phase is called stalled when it has taken at least this many times its reference and has been "
             "slow for the time that follows.", unit="×", bounds=(1.5, 100), kinds=(STALLED,)),
        _one("stalled_s", "Stalled, at least", "A phase is called stalled only after it has been slow for this long.",
             unit="s", bounds=(1, 86_400), kinds=(STALLED,)),
        _one("cap_s", "Longest phase",
             "An open phase that can be compared with nothing is called slow after this time. A run of which no round "
             "is known yet is called stalled when no phase has ended for this long.", unit="s",
             bounds=(10, 604_800), kinds=(*_OPEN, RUN_STALLED)),
        _one("lost_s", "Lost after",
             "A worker is reported lost when nothing was heard of it for this long. The live page shows its state as "
             "lost after 15 s whatever is set here.", unit="s", bounds=(5, 3600), kinds=(LOST,)),
        _one("run_stalled_s", "Run stalled after",
             "A run is called stalled when no phase of any worker has ended for this long, and for the number of "
             "rounds that follows.", unit="s", bounds=(10, 604_800), kinds=(RUN_STALLED,)),
        _one("run_stalled_rounds", "Run stalled after, rounds",
             "A run is called stalled only when no phase has ended for the time of this many typical rounds.",
             unit="rounds", bounds=(1, 1000), kinds=(RUN_STALLED,)),
    ),
)  # fmt: skip
