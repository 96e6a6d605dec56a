"""What the programs of the product are told."""

import socket
from pathlib import Path

import pytest

from dashboard.project.datadir import DataFolder
from dashboard.project.programs import House


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
