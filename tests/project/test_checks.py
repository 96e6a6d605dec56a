"""The system checks are silent for a sound installation and speak where something would fail only later."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
KEY = "k3y-" * 20 + "abcdefghij"


def check(data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    cleared = {"ROUNDWATCH_SECRET_KEY", "ROUNDWATCH_PUBLIC_URL", "ROUNDWATCH_DATA"}
    inherited = {name: value for name, value in os.environ.items() if name not in cleared}
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=REPOSITORY,
        env={**inherited, "ROUNDWATCH_DATA": str(data), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_production_settings_leave_nothing_to_say(tmp_path: Path) -> None:
    result = check(tmp_path, ROUNDWATCH_SECRET_KEY=KEY, ROUNDWATCH_PUBLIC_URL="https://watch.example.org")
    assert result.returncode == 0, result.stderr


def test_a_key_that_dies_with_the_process_is_told(tmp_path: Path) -> None:
    result = check(tmp_path, ROUNDWATCH_PUBLIC_URL="https://watch.example.org")
    assert "roundwatch.W001" in result.stderr


def test_a_kept_key_is_used(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text(KEY)
    result = check(tmp_path, ROUNDWATCH_PUBLIC_URL="https://watch.example.org")
    assert result.returncode == 0, result.stderr


def test_plain_http_across_a_network_is_told(tmp_path: Path) -> None:
    result = check(tmp_path, ROUNDWATCH_SECRET_KEY=KEY, ROUNDWATCH_PUBLIC_URL="http://watch.example.org")
    assert "roundwatch.W002" in result.stderr


def test_plain_http_on_the_loopback_is_not(tmp_path: Path) -> None:
    result = check(tmp_path, ROUNDWATCH_SECRET_KEY=KEY, ROUNDWATCH_PUBLIC_URL="http://127.0.0.1:8000")
    assert "roundwatch." not in result.stderr


@pytest.mark.parametrize(
    ("issuer", "told"),
    [
        ("https://login.example.org", False),
        ("http://login.example.org", True),
        ("http://127.0.0.1:8080/realm", False),
        ("http://localhost:8080", False),
    ],
)
def test_a_provider_that_is_asked_in_the_clear_is_told(tmp_path: Path, issuer: str, *, told: bool) -> None:
    result = check(
        tmp_path, ROUNDWATCH_SECRET_KEY=KEY, ROUNDWATCH_PUBLIC_URL="https://watch.example.org",
        ROUNDWATCH_OIDC_ISSUER=issuer, ROUNDWATCH_OIDC_CLIENT_ID="c", ROUNDWATCH_OIDC_CLIENT_SECRET="s",
    )  # fmt: skip
    assert ("roundwatch.W003" in result.stderr) == told
    assert (result.returncode == 0) == (not told)


def test_half_a_provider_is_refused_in_one_sentence(tmp_path: Path) -> None:
    result = check(tmp_path, ROUNDWATCH_SECRET_KEY=KEY, ROUNDWATCH_OIDC_ISSUER="https://login.example.org")
    assert result.returncode != 0
    assert "ROUNDWATCH_OIDC_ISSUER needs ROUNDWATCH_OIDC_CLIENT_ID" in result.stderr


def test_a_key_that_can_be_guessed_is_told(tmp_path: Path) -> None:
    for key in ("hunter2", "x" * 80):
        result = check(tmp_path, ROUNDWATCH_SECRET_KEY=key, ROUNDWATCH_PUBLIC_URL="https://watch.example.org")
        assert "roundwatch.W004" in result.stderr
        assert key not in result.stderr


def test_debug_pages_on_a_server_that_others_reach_are_told(tmp_path: Path) -> None:
    told = {"ROUNDWATCH_SECRET_KEY": KEY, "ROUNDWATCH_DEBUG": "1"}
    assert "roundwatch.W005" in check(tmp_path, **told, ROUNDWATCH_PUBLIC_URL="https://watch.example.org").stderr
    assert "roundwatch.W005" not in check(tmp_path, **told, ROUNDWATCH_PUBLIC_URL="http://127.0.0.1:8000").stderr


def test_mail_with_a_password_and_no_server_is_told(tmp_path: Path) -> None:
    told = {"ROUNDWATCH_SECRET_KEY": KEY, "ROUNDWATCH_SMTP_PASSWORD": "hunter2"}
    result = check(tmp_path, **told)
    assert "roundwatch.W006" in result.stderr
    assert "hunter2" not in result.stderr
    assert "roundwatch.W006" not in check(tmp_path, **told, ROUNDWATCH_SMTP_HOST="mail.example.org").stderr
