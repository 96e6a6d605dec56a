"""The agent as a service of systemd and as a DaemonSet of Kubernetes: that what deploy/ says is what there is."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.agents.collector import Collector, until
from tests.agents.conftest import SOURCES

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT, MANIFEST = DEPLOY / "roundwatch-agent@.service", DEPLOY / "agent-daemonset.yaml"
# Kubernetes' own names, those that are used: one that it does not know it would refuse, or pass over in silence.
META = {"name": str, "namespace": str, "labels": {}}
FROM_SECRET = {"secretKeyRef": {"name": str, "key": str}}
CONTAINER = {
    "name": str,
    "image": str,
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": FROM_SECRET}],
    "resources": {"requests": {"cpu": str, "memory": str}, "limits": {"memory": str}},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]},
        "seccompProfile": {"type": str},
    },
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
VOLUME = {
    "name": str,
    "secret": {"secretName": str, "defaultMode": int, "items": [{"key": str, "path": str}]},
    "hostPath": {"path": str, "type": str},
}
POD = {
    "hostNetwork": bool,
    "dnsPolicy": str,
    "automountServiceAccountToken": bool,
    "enableServiceLinks": bool,
    "terminationGracePeriodSeconds": int,
    "tolerations": [{"key": str, "operator": str}],
    "containers": [CONTAINER],
    "volumes": [VOLUME],
}
KINDS: dict[str, Any] = {
    "Namespace": {"apiVersion": str, "kind": str, "metadata": META},
    "DaemonSet": {
        "apiVersion": str,
        "kind": str,
        "metadata": META,
        "spec": {
            "selector": {"matchLabels": {}},
            "updateStrategy": {"type": str, "rollingUpdate": {"maxUnavailable": str}},
            "template": {"metadata": META, "spec": POD},
        },
    },
}


def misfits(value: Any, form: Any, path: str = "") -> list[str]:
    """Where a document is not of its form: `{}` takes any texts by name."""
    if isinstance(form, type):
        return [] if isinstance(value, form) and (form is bool or not isinstance(value, bool)) else [path]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [path]
        return [fault for at, each in enumerate(value) for fault in misfits(each, form[0], f"{path}[{at}]")]
    if not isinstance(value, dict):
        return [path]
    known = form or dict.fromkeys(value, str)
    return [
        fault
        for name, each in value.items()
        for fault in ([f"{path}.{name}"] if name not in known else misfits(each, known[name], f"{path}.{name}"))
    ]


def documents() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFEST.read_text())}


def container() -> dict[str, Any]:
    [found] = documents()["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_manifest_says_nothing_that_kubernetes_would_not_understand() -> None:
    found = documents()
    assert found.keys() == KINDS.keys()
    assert [fault for kind, each in found.items() for fault in misfits(each, KINDS[kind])] == []
    assert misfits({"kind": "Namespace", "metaData": {}, "apiVersion": 1}, KINDS["Namespace"]) == [
        ".metaData",
        ".apiVersion",
    ]


def test_the_manifests_parts_fit_each_other_and_the_pod_may_do_nothing_more_than_it_needs() -> None:
    spec = documents()["DaemonSet"]["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert documents()["DaemonSet"]["metadata"]["namespace"] == documents()["Namespace"]["metadata"]["name"]
    pod, agent = spec["template"]["spec"], container()
    assert {mount["name"] for mount in agent["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    allowed = agent["securityContext"]
    assert (allowed["allowPrivilegeEscalation"], allowed["readOnlyRootFilesystem"]) == (False, True)
    assert allowed["capabilities"] == {"drop": ["ALL"]}
    assert "cpu" not in agent["resources"]["limits"]
    values = {each["name"]: each.get("value", "") for each in agent["env"]}
    assert values["ROUNDWATCH_SPOOL"] in {mount["mountPath"] for mount in agent["volumeMounts"]}
    assert "ROUNDWATCH_TOKEN" not in values, "a variable is seen by whoever may look at the pod"


def unit() -> dict[str, list[str]]:
    """The settings of the unit by name; some are given more than once."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if not line.startswith(("#", "[")) and "=" in line:
            found.setdefault(line.partition("=")[0], []).append(line.partition("=")[2])
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")
def test_systemd_understands_every_line_of_the_unit(tmp_path: Path) -> None:
    def told(text: str) -> str:
        file = tmp_path / "roundwatch-agent@daemon.service"
        file.write_text(text.replace("/opt/roundwatch/bin/roundwatch", "/bin/true"))
        command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stderr

    assert told(UNIT.read_text()) == ""
    assert "Unknown key" in told(UNIT.read_text().replace("ProtectClock", "ProtectClocks"))


def test_the_unit_is_for_one_user_keeps_its_token_out_of_sight_and_stops_on_nonsense() -> None:
    said = unit()
    assert said["User"] == ["%i"]
    assert said["StateDirectoryMode"] == ["0700"]
    assert said["Environment"] == [f"ROUNDWATCH_SPOOL=/var/lib/{said['StateDirectory'][0]}"]
    assert said["RestartPreventExitStatus"] == ["2"]
    assert said["NoNewPrivileges"] == ["yes"]
    assert said["CapabilityBoundingSet"] == [""]
    assert "PrivateDevices" not in said, "drivers are asked through /dev"
    assert not [line for line in UNIT.read_text().splitlines() if "TOKEN" in line]


def commands() -> dict[str, list[str]]:
    """How each starts the agent, without the program's own name."""
    [line] = unit()["ExecStart"]
    return {"systemd": shlex.split(line)[1:], "kubernetes": container()["args"]}


@pytest.mark.parametrize("by", ["systemd", "kubernetes"])
def test_the_agent_starts_as_it_says_ships_and_leaves_in_order_when_told_to(
    by: str, collector: Collector, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    arguments = [str(token) if word.endswith("/token") else word for word in commands()[by]]
    assert str(token) in arguments
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROUNDWATCH_")}
    environment |= {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_SPOOL": str(tmp_path / "spool")}
    command = [sys.executable, "-m", "roundwatch", *arguments]
    with subprocess.Popen(command, env=environment | {"PYTHONPATH": str(SOURCES)}, stderr=subprocess.DEVNULL) as agent:
        try:
            until(lambda: "Bearer t0ken" in collector.tokens, "it ships with the token of the file")
        finally:
            agent.send_signal(signal.SIGTERM)
        assert agent.wait(30) == 0
