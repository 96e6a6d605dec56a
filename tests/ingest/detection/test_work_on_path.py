"""Work on the critical path: what rounds wait for without computing, from the second round on and never as an alarm."""

from dataclasses import replace

from ingest.detection.verdicts import Verdict
from ingest.detection.work_on_path import DEFAULT, judge
from tests.ingest import scenarios
from tests.ingest.detection.histories import history
from tests.ingest.scenarios import Did, Scenario, Who


def dry_run(rounds: int = 2, *, save_s: float = 14.5) -> Scenario:
    """Rounds like those of the study's dry run: prepare, upload, aggregate, save a fallback, apply."""
    phases: list[Did] = []
    bounds: list[tuple[float, float]] = []
    now = 0.0
    for index in range(rounds):
        ready = now + 48 + 20 + 0.7
        saved = ready + 3.2 + save_s
        for host, more in (("host-0", 0.0), ("host-1", -1.5)):
            phases += [
                Did(host, index, "train", now, now + 48), Did(host, index, "prepare", now + 48, ready - 0.7 + more),
                Did(host, index, "upload", ready - 0.7 + more, ready + more),
                Did(host, index, "apply", ready + more, saved + 12 + more, {"after": "save"}),
            ]  # fmt: skip
        phases += [
            Did("coordinator", index, "aggregate", now, ready + 3.2),
            Did("coordinator", index, "save", ready + 3.2, saved, {"artifact": f"model-{index}"}),
        ]
        bounds.append((now, saved + 12))
        now = saved + 12
    crew = (Who("coordinator", role="coordinator", machine="a"), Who("host-0", machine="b"), Who("host-1", machine="c"))
    return Scenario("dry run", crew, tuple(bounds), tuple(phases))


def by_phase(verdicts: tuple[Verdict, ...]) -> dict[str, Verdict]:
    return {verdict.phase: verdict for verdict in verdicts}


def test_save_apply_and_prepare_are_named_on_the_second_round_of_the_dry_run_and_nothing_else() -> None:
    found = by_phase(judge(history(dry_run()), {"save": False}))

    # 48 train, 20 prepare, 0.7 upload, 3.2 aggregate, 14.5 save, 12 apply: of 98.4 s.
    assert sorted(found) == ["apply", "prepare", "save"]
    assert {verdict.severity for verdict in found.values()} == {"info"}
    assert {verdict.kind for verdict in found.values()} == {"work_on_path"}
    assert found["save"].evidence["share"] == round(14.5 / 98.4, 3)
    assert found["save"].workers == ("coordinator",)
    assert found["apply"].workers == ("host-0",)
    assert found["save"].observed.startswith("Rounds waited 14.5 s each for save, 15% of the round.")


def test_the_first_round_is_warm_up_and_says_nothing() -> None:
    assert judge(history(dry_run(), upto=0), {}) == ()


def test_a_worker_that_warms_up_alone_is_left_out_alone() -> None:
    told = history(dry_run())
    coordinator = next(worker.lane for worker in told.workers if worker.role == "coordinator")
    newest = replace(told.windows[-1], cold=frozenset({coordinator}))

    found = by_phase(judge(replace(told, windows=(*told.windows[:-1], newest)), {}))

    assert sorted(found) == ["apply", "prepare"]


def test_of_what_was_saved_it_says_whether_it_was_ever_loaded() -> None:
    told = history(dry_run())

    never, since = by_phase(judge(told, {"save": False}))["save"], by_phase(judge(told, {"save": True}))["save"]
    unknown = by_phase(judge(told, {}))["save"]

    assert "Nothing of what it saved was loaded since." in never.observed
    assert never.hypothesis == "save may not need to be waited for."
    assert [one.evidence["loaded_later"] for one in (never, since, unknown)] == [False, True, None]
    assert since.hypothesis == unknown.hypothesis == ""
    # What only carries a name that something else saved under persists nothing.
    assert by_phase(judge(told, {"apply": False}))["apply"].evidence["loaded_later"] is None


def test_what_takes_less_than_its_share_is_not_named() -> None:
    assert "save" not in by_phase(judge(history(dry_run(save_s=4.4)), {}))
    assert "save" in by_phase(judge(history(dry_run(save_s=4.8)), {}))
    assert "upload" in by_phase(judge(history(dry_run()), {}, replace(DEFAULT, share=0.007)))


def test_only_the_newest_windows_count() -> None:
    told = history(dry_run(6))

    (all_of_them,) = {verdict.evidence["rounds"] for verdict in judge(told, {})}
    (newest,) = {verdict.evidence["rounds"] for verdict in judge(told, {}, replace(DEFAULT, windows=2))}

    assert (all_of_them, newest) == (5, 2)


def test_compute_waits_and_gaps_are_no_such_work() -> None:
    late = Scenario(
        "late", (Who("rank-0"),), ((0, 10), (10, 20)),
        tuple(Did("rank-0", index, "train", index * 10 + 4, index * 10 + 9) for index in range(2)),
    )  # fmt: skip

    assert judge(history(late), {}) == ()
    assert judge(history(scenarios.exchange("none", (), rounds=0, train=1, encode=1), upto=-1), {}) == ()


def test_an_incident_keeps_its_fingerprint_and_goes_on() -> None:
    first, second = (by_phase(judge(history(dry_run(4), upto=upto), {}))["save"] for upto in (2, 3))

    assert first.fingerprint == second.fingerprint == "work_on_path:save"
    assert first.opened_ns == second.opened_ns
    assert first.resolved_ns is second.resolved_ns is None
