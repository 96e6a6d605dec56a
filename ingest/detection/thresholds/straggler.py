"""The thresholds of stragglers that may be set."""

from functools import partial

from ingest.detection.straggler import DEFAULT, KIND
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_one = partial(threshold, "straggler", DEFAULT, kinds=(KIND,))

SUBJECT = Subject(
    "straggler", "Stragglers, when the phase has ended",
    "A worker whose phase took much longer than its peers' in the same round, or that is slow again and again. Its "
    "excess is the time it took beyond the lower median of its peers. It is named only where ratio, noise and excess "
    "all say so.",
    (
        _one("ratio", "Ratio in one round",
             "A worker is called slow in a round when its phase took at least this many times the lower median of its "
             "peers'.", unit="×", bounds=(1.1, 20)),
        _one("lasting_ratio", "Ratio that comes back",
             "A worker is called slow again and again when its phase took at least this many times the lower median "
             "of its peers' in two of the last three rounds.", unit="×", bounds=(1.05, 20)),
        _one("early_ratio", "Ratio at first, few workers",
             "This ratio is needed while fewer than five earlier rounds of the phase are known and fewer than six "
             "workers do it.", unit="×", bounds=(1.1, 20)),
        _one("early_many_ratio", "Ratio at first, many workers",
             "This ratio is needed while fewer than five earlier rounds of the phase are known and six workers or "
             "more do it.", unit="×", bounds=(1.1, 20)),
        _one("least_z", "Distance from noise",
             "A worker is called slow in a round only when it exceeds its peers by at least this many standard "
             "deviations of the phase's usual noise. Where very many workers are compared more are needed.", unit="σ",
             bounds=(2, 20)),
        _one("floor_share", "Excess, share of the round",
             "A worker is called slow only when its excess is at least this share of the round, within the two bounds "
             "that follow.", unit="%", bounds=(0.1, 50), scale=0.01),
        _one("floor_least_s", "Excess, at least",
             "A worker whose excess is less than this is never slow, however short the round.", unit="ms",
             bounds=(1, 50), scale=0.001),
        _one("floor_most_s", "Excess, at most",
             "A worker never needs an excess of more than this to be slow, however long the round.", unit="s",
             bounds=(0.05, 3600)),
        _one("clean_rounds", "Clean rounds",
             "A worker that was slow again and again is over it after this many rounds in a row in which it is not "
             "slow.", unit="rounds", bounds=(1, 20)),
        _one("page_share", "Critical from",
             "A worker that is slow again and again is critical when its excess is at least this share of the round. "
             "The default alert rules then wake somebody.", unit="%", bounds=(0.1, 100), scale=0.01),
    ),
)  # fmt: skip
