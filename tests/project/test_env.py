"""Settings are read with their types, and a bad one is refused with a sentence that names it."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from dashboard.project import env


@pytest.mark.parametrize(("given", "read"), [("1", True), ("Yes", True), ("off", False), ("0", False), ("", False)])
def test_a_flag_is_yes_or_no(given: str, read: bool) -> None:
    assert env.flag("F", source={"F": given}) is read


def test_an_unset_flag_is_its_default() -> None:
    assert env.flag("F", default=True, source={}) is True


def test_a_flag_that_is_neither_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="F must be 1 or 0, not 'maybe'"):
        env.flag("F", source={"F": "maybe"})


@pytest.mark.parametrize("given", ["many", "1.5", "-1"])
def test_a_number_that_is_none_or_too_small_is_refused(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^N must be"):
        env.number("N", 3, source={"N": given})


def test_a_blank_number_is_its_default() -> None:
    assert env.number("N", 3, source={"N": " "}) == 3


def test_a_list_loses_its_blanks() -> None:
    assert env.listing("L", source={"L": " a, ,b "}) == ["a", "b"]


def test_a_public_url_loses_its_slash() -> None:
    assert env.web_url("U", "", source={"U": "https://watch.example.org/"}) == "https://watch.example.org"


@pytest.mark.parametrize(
    "given", ["watch.example.org", "ftp://a", "https://", "https://a/b", "https://a?b", "http://a:99999", "http://a#b"]
)
def test_what_is_no_origin_is_refused_as_public_url(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^U must look like"):
        env.web_url("U", "", source={"U": given})


def test_a_database_url_may_use_any_option_of_libpq() -> None:
    url = "postgresql://ann:p%40ss@db.example:5433/watch?sslmode=require&connect_timeout=3"
    assert env.database("D", "", source={"D": url}) == {
        "NAME": "watch",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require", "connect_timeout": "3"},
    }


def test_a_database_url_may_name_a_folder_of_sockets() -> None:
    settings = env.database("D", "postgresql://roundwatch@/roundwatch?host=/srv/run", source={})
    assert (settings["HOST"], settings["USER"]) == ("/srv/run", "roundwatch")


@pytest.mark.parametrize("given", ["mysql://a/b", "postgresql://host", "postgresql://u:secret@h/d?nonsense=1"])
def test_a_bad_database_url_is_refused_without_repeating_its_password(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^D ") as refused:
        env.database("D", "", source={"D": given})
    assert "secret" not in str(refused.value)


OIDC = {"O_ISSUER": "https://login.example.org/realm/", "O_CLIENT_ID": "roundwatch", "O_CLIENT_SECRET": "s"}


def test_a_single_sign_on_is_told_by_three_variables() -> None:
    told = env.single_sign_on("O", source=OIDC)
    assert told
    assert (told["client_id"], told["secret"], told["name"]) == ("roundwatch", "s", "single sign-on")
    assert told["settings"]["server_url"] == "https://login.example.org/realm"
    named = env.single_sign_on("O", source=OIDC | {"O_NAME": "Campus"})
    assert named
    assert named["name"] == "Campus"
    assert env.single_sign_on("O", source={"O_NAME": "Campus"}) is None


@pytest.mark.parametrize("missing", ["O_ISSUER", "O_CLIENT_ID", "O_CLIENT_SECRET"])
def test_half_a_single_sign_on_is_refused(missing: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^O_ISSUER (is missing|needs)"):
        env.single_sign_on("O", source={name: value for name, value in OIDC.items() if name != missing})


@pytest.mark.parametrize("issuer", ["login.example.org", "ftp://a", "https://", "https://a?b=c", "https://a#b"])
def test_an_issuer_that_is_no_address_is_refused(issuer: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^O_ISSUER must look like"):
        env.single_sign_on("O", source=OIDC | {"O_ISSUER": issuer})


@pytest.mark.parametrize(("given", "read"), [("JSON", "json"), (" text ", "text"), ("", "text")])
def test_a_choice_is_one_of_its_words_whatever_their_case(given: str, read: str) -> None:
    assert env.choice("C", ("text", "json"), source={"C": given}) == read
    assert env.choice("C", ("text", "json"), "json", source={}) == "json"


def test_a_choice_of_something_else_is_refused_with_what_there_is() -> None:
    with pytest.raises(ImproperlyConfigured, match="^C must be text or json, not 'xml'.$"):
        env.choice("C", ("text", "json"), source={"C": "xml"})


def test_a_number_that_is_too_large_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="^N must be at most 9, not 10.$"):
        env.number("N", 3, most=9, source={"N": "10"})


def test_hosts_are_names_and_addresses_and_nothing_more() -> None:
    good = "watch.example.org, .example.org,10.1.2.3,[::1],::1,*,host_1"
    assert env.hosts("H", source={"H": good}) == good.replace(" ", "").split(",")
    for bad in ("https://a.example", "a.example/path", "a b", "a:8000", "<b>"):
        with pytest.raises(ImproperlyConfigured, match="^H must hold names"):
            env.hosts("H", source={"H": bad})


@pytest.mark.parametrize("given", ["redis://a:6379/0", "rediss://:x@a", "unix:///run/redis.sock?db=1"])
def test_a_redis_url_is_left_as_it_is(given: str) -> None:
    assert env.redis_url("R", "", source={"R": given}) == given


@pytest.mark.parametrize("given", ["http://:secret@a", "secret", "unix:", "redis:///0"])
def test_a_bad_redis_url_is_refused_without_repeating_its_password(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^R must be a redis") as refused:
        env.redis_url("R", "", source={"R": given})
    assert "secret" not in str(refused.value)
