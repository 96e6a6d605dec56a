"""Static files of a real server: named by content and compressed once collected, always whole, never stale."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import httpx
import pytest
from django.contrib.staticfiles.finders import find

from dashboard.project.csp import POLICY
from dashboard.project.static import collect
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.runs_of import make_run
from tests.serving import REPOSITORY, database_url, serving

MODULES = "dashboard/live/static/live/js"
HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")
COMMENT = re.compile(r"\s*(//|/\*\*|\*( |/|$))")
NAMED = ' from "'  # of what is imported; the names change
FOR_EVER = "max-age=315360000, public, immutable"


@pytest.fixture(scope="module")
def collected(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose static files were collected before it started."""
    data = tmp_path_factory.mktemp("data")
    collect(data / "static")
    with serving(data / "web.log", ROUNDWATCH_DATA=str(data)) as url:
        yield url


@pytest.fixture
def people(quiet: None) -> Cast:
    return make_cast()


def page_of(web: str, people: Cast, path: str) -> httpx.Response:
    cookie = browser_of(people.owner).cookies["sessionid"].value
    page = httpx.get(web + path, cookies={"sessionid": cookie})
    assert page.status_code == 200
    return page


def files_of(page: httpx.Response) -> list[str]:
    return re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)


def on_the_wire(web: str, path: str, accept: str = "gzip, deflate, br, zstd") -> httpx.Response:
    return httpx.get(web + path, headers={"Accept-Encoding": accept})


# --- as production serves them ---------------------------------------------------------------------------------------


def test_the_live_page_asks_for_modules_that_browsers_keep_for_ever(collected: str, people: Cast) -> None:
    modules = [file for file in files_of(page_of(collected, people, live(people))) if file.endswith(".js")]
    assert len(modules) > 40
    for path in modules:
        answer = on_the_wire(collected, path)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, FOR_EVER), path
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["content-encoding"] == "gzip", path
        assert answer.headers["vary"] == "Accept-Encoding"
        assert on_the_wire(collected, path, "identity").content == answer.content


def test_modules_import_each_other_by_the_names_that_the_page_asked_for(collected: str, people: Cast) -> None:
    modules = {file for file in files_of(page_of(collected, people, live(people))) if "/live/js/" in file}
    imported = set()
    for path in modules:
        assert HASHED.search(path)
        for name in imports(on_the_wire(collected, path).text):
            imported.add(path.rsplit("/", 1)[0] + name.removeprefix("."))
    assert imported
    assert imported <= modules


def test_the_scripts_of_the_live_page_stay_under_100_kb(collected: str, people: Cast) -> None:
    scripts = {file for file in files_of(page_of(collected, people, live(people))) if file.endswith(".js")}
    assert sum(int(on_the_wire(collected, path).headers["content-length"]) for path in scripts) < 100_000


def test_our_modules_go_without_their_comments_and_keep_their_lines(collected: str, people: Cast) -> None:
    scripts = {file for file in files_of(page_of(collected, people, live(people))) if "/live/js/" in file}
    for path in scripts:
        source = (REPOSITORY / MODULES / HASHED.sub("", path.rsplit("/", 1)[1])).with_suffix(".js").read_text()
        code = [line if not COMMENT.match(line) else "" for line in source.split("\n")]
        served = on_the_wire(collected, path).text.split("\n")
        assert len(served) == len(code), path
        assert [line for line in served if NAMED not in line] == [line for line in code if NAMED not in line], path


@pytest.mark.parametrize("path", ["/", "/connect/", "/accounts/login/", "/accounts/logout/", "/api/v1/docs"])
def test_every_page_finds_its_files(collected: str, people: Cast, path: str) -> None:
    page = httpx.get(collected + path) if "login" in path else page_of(collected, people, path)
    assert files_of(page)
    for file in files_of(page):
        assert HASHED.search(file)
        assert on_the_wire(collected, file).status_code == 200


def test_a_name_that_tells_no_content_does_not_exist(collected: str) -> None:
    for name in ("live/js/main.js", "live/js/main.000000000000.js", "staticfiles.json", "collected.json"):
        assert httpx.get(f"{collected}/static/{name}").status_code == 404


def test_a_file_that_a_browser_has_is_not_sent_again_and_none_is_changed(collected: str, people: Cast) -> None:
    icon = collected + next(file for file in files_of(page_of(collected, people, "/")) if file.endswith(".svg"))
    first = httpx.get(icon)
    again = httpx.get(icon, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["cache-control"]) == (304, b"", FOR_EVER)
    asked = httpx.head(icon)
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["content-length"] == first.headers["content-length"]
    assert httpx.get(icon, headers={"Range": "bytes=0-3", "Accept-Encoding": "identity"}).content == first.content[:4]
    assert httpx.post(icon, content=b"x" * 100_000).status_code == 405


def test_no_modules_import_each_other_in_a_circle() -> None:
    """A module's name is made of its content, and so of the names of all that it imports."""
    graph = {file.name: [name.removeprefix("./") for name in imports(file.read_text())] for file in js(REPOSITORY)}
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


# --- preparing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the product that tests may edit."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("dashboard", "ingest"):
        shutil.copytree(REPOSITORY / folder, tmp_path / "tree" / folder, ignore=ignored)
    shutil.copy(REPOSITORY / "manage.py", tmp_path / "tree")
    return tmp_path / "tree"


def prepare(tree: Path, data: Path) -> Path:
    """Does what each start of the product does first; returns where static files then are."""
    data.mkdir(exist_ok=True)
    subprocess.run(
        [sys.executable, "manage.py", "prepare", "--answer", str(data / "answer")],
        cwd=tree,
        env={**os.environ, "ROUNDWATCH_DATA": str(data), "DATABASE_URL": database_url()},
        check=True,
        timeout=60,
    )
    return data / "static"


def test_a_second_start_leaves_everything_as_it_is(quiet: None, tree: Path, tmp_path: Path) -> None:
    static = prepare(tree, tmp_path / "data")
    before = static.stat().st_ino
    assert prepare(tree, tmp_path / "data").stat().st_ino == before


def test_what_was_edited_gets_another_name_and_the_former_one_is_gone(quiet: None, tree: Path, tmp_path: Path) -> None:
    before = names(prepare(tree, tmp_path / "data"))
    with (tree / MODULES / "clock.js").open("a") as module:
        module.write("// more\n")
    after = names(prepare(tree, tmp_path / "data"))
    gone, new = [{name.split(".")[0] for name in some} for some in (before - after, after - before)]
    assert gone == new
    assert {"live/js/clock", "live/js/main"} <= new  # and all that import it
    assert "live/js/frames" not in new
    assert len(after) == len(before)
    assert not list((tmp_path / "data").glob("static.*"))


def test_plotly_comes_out_of_its_wheel_as_it_is_and_nothing_else_of_that_wheel_does(tmp_path: Path) -> None:
    source = find("plotly/plotly.min.js")
    assert isinstance(source, str)
    collect(tmp_path / "static")
    script, compressed = sorted((tmp_path / "static/plotly").iterdir())
    assert HASHED.search(script.name)
    assert compressed.name == f"{script.name}.gz"
    assert script.read_bytes() == Path(source).read_bytes()
    assert find("plotly/widgetbundle.js") is None
    assert find("plotly/templates/plotly.json") is None


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: os.truncate(file, 0)], ids=["deleted", "emptied"])
def test_a_harmed_file_is_mended_by_the_next_start(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    static = tmp_path / "static"
    assert collect(static)
    file = next(static.glob("live/js/main.*.js"))
    whole = file.read_bytes()
    assert not collect(static)
    harm(file)
    assert collect(static)
    assert file.read_bytes() == whole


def test_a_dead_link_of_a_dependency_harms_only_itself(quiet: None, tree: Path, tmp_path: Path) -> None:
    sheet = tree / "dashboard/static/rw/foreign.css"
    sheet.write_text('a { background: url("nowhere.png") }\n/*# sourceMappingURL=foreign.css.map */\n')
    static = prepare(tree, tmp_path / "data")
    assert next(static.glob("rw/foreign.*.css")).read_text() == sheet.read_text()


# --- while people edit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("longer", [True, False], ids=["longer", "shorter"])
@pytest.mark.parametrize("collects", [True, False], ids=["collected", "as it lies"])
def test_a_file_edited_while_the_server_runs_arrives_whole(
    quiet: None, tree: Path, tmp_path: Path, longer: bool, collects: bool
) -> None:
    file, data, path = tree / MODULES / "clock.js", tmp_path / "data", "/static/live/js/clock.js"
    former = file.read_text()
    served = former
    if collects:
        copy = next(prepare(tree, data).glob("live/js/clock.*.js"))
        path, served = f"/static/live/js/{copy.name}", copy.read_text()
        assert "class Clock" in served
    with serving(tmp_path / "web.log", tree=tree, ROUNDWATCH_DATA=str(data)) as url:
        assert httpx.get(url + path).text == served
        file.write_text(former * 3 if longer else former[: len(former) // 2])
        assert httpx.get(url + path).text == (served if collects else file.read_text())


def live(people: Cast) -> str:
    return f"/runs/{make_run(people.team).pk}/"


def imports(module: str) -> list[str]:
    return re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"', module)


def js(tree: Path) -> list[Path]:
    return sorted((tree / MODULES).glob("*.js"))


def names(static: Path) -> set[str]:
    """Of all files but the two that tell what is there."""
    return {str(file.relative_to(static)) for file in static.rglob("*.*.*") if file.is_file()}
