"""The thresholds of stragglers that may be set."""

from functools import partial

from ingest.detection.straggler import DEFAULT, KIND
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_one = partial(threshold, "straggler", DEFAULT, kinds=(KIND,))

SUBJECT = Subject(
    "straggler", "Stragglers, when the phase has ended",
    "A worker whose phase took much longer than its peers' in the same round, or that is slow again and again.",
    (
        _one("ratio", "Ratio in one round", "From so many times its peers' lower median on a worker is slow.",
             unit="×", bounds=(1.1, 20)),
        _one("lasting_ratio", "Ratio that comes back",
             "The same where it is slow in two of the last three rounds.", unit="×", bounds=(1.05, 20)),
        _one("early_ratio", "Ratio at first, few workers",
             "The same until five rounds are known, where fewer than six workers do the phase.", unit="×",
             bounds=(1.1, 20)),
        _one("early_many_ratio", "Ratio at first, many workers",
             "The same until five rounds are known, where six workers or more do.", unit="×", bounds=(1.1, 20)),
        _one("least_z", "Distance from noise",
             "By at least so many standard deviations of the noise it must exceed its peers.", unit="σ",
             bounds=(2, 20)),
        _one("floor_share", "Excess, share of the round",
             "An excess below this share of the round does not matter, within the two bounds that follow.", unit="%",
             bounds=(0.1, 50), scale=0.01),
        _one("floor_least_s", "Excess, at least", "An excess below this never matters, however short the round.",
             unit="ms", bounds=(1, 50), scale=0.001),
        _one("floor_most_s", "Excess, at most", "An excess of this always matters, however long the round.", unit="s",
             bounds=(0.05, 3600)),
        _one("clean_rounds", "Clean rounds", "After so many rounds that are not slow one that came back is over.",
             unit="rounds", bounds=(1, 20)),
        _one("page_share", "Critical from",
             "One that comes back is critical where its excess is this share of the round: somebody is woken.",
             unit="%", bounds=(0.1, 100), scale=0.01),
    ),
)  # fmt: skip
