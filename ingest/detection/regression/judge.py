"""What is said of a run beside its project's own baseline: one incident for each measure that is worse."""

from ingest.detection.regression import rules, wording
from ingest.detection.regression.context import Standing
from ingest.detection.regression.facts import Compared
from ingest.detection.regression.policy import DEFAULT, Policy
from ingest.detection.verdicts import Verdict, fingerprint

KIND = "regression"


def judge(compared: Compared, policy: Policy = DEFAULT) -> tuple[Verdict, ...]:
    """Incidents that last as long as the run's figures say so."""
    found = (rules.slower(compared, policy), rules.waits_more(compared, policy), rules.holds_more(compared, policy))
    return tuple(_verdict(compared, one) for one in found if one is not None)


def _verdict(compared: Compared, found: Standing) -> Verdict:
    return Verdict(
        kind=KIND, fingerprint=fingerprint(KIND, since=None, phase=found.measure), phase="", severity="warning",
        observed=wording.observed(compared, found), hypothesis=wording.hypothesis(compared),
        workers=(compared.worker,) if found.measure == "memory_peak_bytes" and compared.worker else (),
        rounds=(), marks=(), opened_ns=compared.since_ns, resolved_ns=None,
        evidence={
            "measure": found.measure, "own": round(found.own, 6), "usual": round(found.usual, 6),
            "ratio": round(found.ratio, 4) if found.usual > 0 else None, "z": round(found.z, 2),
            "conditions": compared.group, "rounds": compared.own.rounds,
            "runs": [
                {"run": one.run, "name": one.name, "value": round(value, 6)}
                for one, value in zip(found.runs, found.past, strict=True)
            ],
            "changed": list(compared.changed),
        },
    )  # fmt: skip
