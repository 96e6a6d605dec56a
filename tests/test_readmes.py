"""Every relative link and picture of every README leads somewhere."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ROOMS = (".", "agents", "dashboard", "deploy", "ingest", "tests")
READMES = sorted({readme for room in ROOMS for readme in (REPOSITORY / room).glob("*.md")})


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: str(readme.relative_to(REPOSITORY)))
def test_its_links_lead_somewhere(readme: Path) -> None:
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", readme.read_text())]
    relative = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in relative if not (readme.parent / link).exists()] == []
