"""A fuzzer over every operation of the OpenAPI schema: each answer is one that the schema tells, and nobody else's."""

import gzip
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case as AnyCase
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from dashboard.runs.api import api
from dashboard.teams import tokens
from ingest.models import Run
from tests.cast import Cast, make_cast
from tests.ingest import scenarios
from tests.ingest.storing import Story

Case = AnyCase[Any]
Operation = APIOperation[Any, Any, Any, Any]
Ask = Callable[[Case], Response]
SECRET = "only-of-the-other-team"
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    negative_data_rejection, unsupported_method,
]  # fmt: skip
SEARCH = settings(
    max_examples=25, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def operations() -> list[Operation]:
    """Every operation that the schema tells of."""
    document = json.loads(json.dumps(api.get_openapi_schema()))
    found = [
        each.ok() for each in schemathesis.openapi.from_dict(document).get_all_operations() if isinstance(each, Ok)
    ]
    assert len(found) == sum(map(len, document["paths"].values())) >= 12
    return found


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


@pytest.fixture
def runs(cast: Cast) -> list[str]:
    """Ids: one's own run, a stranger's whose every name is SECRET, and one that is nobody's."""
    own = Story(cast.team, scenarios.two_slow_encoders())
    own.tell()
    theirs = Story(cast.other_team, scenarios.healthy(2, 1), key=SECRET)
    theirs.tell()
    Run.objects.filter(pk=theirs.run.pk).update(name=SECRET, project=SECRET)
    return [str(own.run.pk), str(theirs.run.pk), str(uuid.uuid4())]


@pytest.fixture
def script(cast: Cast) -> Iterator[requests.Session]:
    """A script that may read and change the runs of its team."""
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {tokens.issue(cast.team, 'fuzzer', ['read', 'admin'])}"
        yield session


def fuzz(operation: Operation, mode: GenerationMode, ids: list[str], ask: Ask) -> None:
    """Asks as the schema allows, or in ways that it does not, of runs with these ids."""
    ways = [operation.as_strategy(mode, path_parameters={"run_id": run_id}) for run_id in ids]

    @SEARCH
    @given(st.one_of(ways))
    def answered(case: Case) -> None:
        answer = ask(case)
        case.validate_response(answer, checks=CHECKS)
        assert SECRET.encode() not in plain(answer.content)

    answered()


def plain(content: bytes) -> bytes:
    """What an answer says, where it is a file that was compressed."""
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_one_that_the_schema_tells(
    web: str, runs: list[str], script: requests.Session, mode: GenerationMode
) -> None:
    def ask(case: Case) -> Response:
        return case.call(base_url=web, session=script, headers=dict(script.headers))

    for operation in operations():
        # Deleted is only what is not one's own: the others would fuzz a run that is gone.
        fuzz(operation, mode, runs[1:] if operation.method == "delete" else runs, ask)
    assert Run.objects.count() == 2
