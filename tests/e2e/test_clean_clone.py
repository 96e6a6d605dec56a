"""From a clean clone and an empty home, as root and as an ordinary user, one command leads to a live picture."""

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.browser import EVERYTHING, chromium, open_live_page, rounds_shown
from tests.e2e.product import REPOSITORY, Product, reachable_folder, until

ORDINARY = "roundwatch-tester"


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture(params=["root", "ordinary"])
def user(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The user to start as; None is who runs the tests."""
    if os.getuid() != 0:
        if request.param == "root":
            pytest.skip("only root can become root")
        yield None
        return
    if request.param == "root":
        yield None
        return
    subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", ORDINARY], check=False)
    yield ORDINARY
    subprocess.run(["userdel", ORDINARY], check=False)


def clone(folder: Path, user: str | None) -> tuple[Path, dict[str, str]]:
    tree, home = folder / "roundwatch", folder / "home"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(tree)], check=True)
    home.mkdir()
    if user is not None:
        account = pwd.getpwnam(user)
        for top, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                os.chown(Path(top) / name, account.pw_uid, account.pw_gid, follow_symlinks=False)
    # The distribution's python3 first: an ordinary user may not reach another.
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    return tree, environment


@pytest.mark.alone  # it is promised how soon a start is there
@pytest.mark.timeout(900)
def test_one_command_leads_to_three_rounds_on_the_screen(folder: Path, user: str | None) -> None:
    tree, environment = clone(folder, user)
    product = Product(folder / "data", "--demo", tree=tree, user=user, environment=environment)
    try:
        ready = product.wait_ready(600)
        since = time.monotonic()
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            runs = until(20, lambda: product.get("/api/v1/runs")["items"], "the demo's run is listed")
            open_live_page(page, ready["login_url"], runs[0]["id"], EVERYTHING)
            until(
                60 - (time.monotonic() - since),
                lambda: len(rounds_shown(page)) >= 3,
                "bars of three rounds are on the screen",
            )
        assert product.terminate(10) == set()
    finally:
        product.close()
    second = Product(folder / "data", tree=tree, user=user, environment=environment)
    try:
        second.wait_ready(60)
        assert second.ready_after < 10
        assert second.ready["token"] == ready["token"]
        assert second.kill(2) == set()
    finally:
        second.close()
    third = Product(folder / "data", tree=tree, user=user, environment=environment)
    try:
        third.wait_ready(60)
        assert third.get("/api/v1/runs")["items"][0]["id"] == runs[0]["id"]
    finally:
        third.close()
