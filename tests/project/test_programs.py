"""What the programs of the product are told."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dashboard.project.datadir import DataFolder
from dashboard.project.programs import House


class Ready(BaseHTTPRequestHandler):
    """Answers as the web server does once it is ready."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def house(tmp_path: Path) -> House:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return House(DataFolder(tmp_path), listening, "http://10.1.2.3:8000", "https://watch.example.org", "mark")


def test_the_server_answers_to_the_address_by_which_its_machine_reaches_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDWATCH_HOSTS", "inner.example.org")
    assert house.program("web").environment["ROUNDWATCH_HOSTS"] == "inner.example.org,10.1.2.3"


def test_outside_servers_are_not_started_beside(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/watch")
    monkeypatch.setenv("REDIS_URL", "redis://redis.example")
    assert house.servers() == []
    monkeypatch.setenv("REDIS_URL", "")
    assert [unit.name for unit in house.servers()] == ["Valkey"]


def test_agent_and_demo_keep_their_records_in_data_and_share_one_shipper(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(program: str) -> dict[str, str]:
        unit = house.agent("token") if program == "agent" else house.demo("token", "")
        child = unit.start()
        child.kill()
        names = ("ROUNDWATCH_URL", "ROUNDWATCH_TOKEN", "ROUNDWATCH_SPOOL")
        return {name: child.program.environment[name] for name in names}

    house.data.logs.mkdir()
    assert told("agent") == told("demo")
    assert told("agent")["ROUNDWATCH_SPOOL"] == str(house.data.root / "spool")
    monkeypatch.setenv("ROUNDWATCH_SPOOL", "/local/disk")
    assert told("agent")["ROUNDWATCH_SPOOL"] == told("demo")["ROUNDWATCH_SPOOL"] == "/local/disk"


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_web_server_is_asked_past_a_proxy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as listening, HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        web = House(DataFolder(tmp_path), listening, url, url, "mark").parts()[0]
        assert web.ready()
        server.shutdown()
