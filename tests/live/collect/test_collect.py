"""``railweave collect``: many devices at once over real protocols, each fault a row, and a capture that is whole or not there."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from railweave import api
from railweave.analysis.expect.prefixes import example_routes
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.cli.app import app
from railweave.errors import InputError, SpecError
from railweave.live.collect import queries
from railweave.live.collect.access_file import read_access
from railweave.live.collect.plan import example_prefixes, plan
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import PORTS
from railweave.model.config.gate import redacted
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.model.state.capture import read_capture
from railweave.systems import system
from tests.conftest import ROOT, example
from tests.live.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, stand_ins, trusting

FABRIC = ROOT / "examples" / "evpn-gpu-isolation.yaml"
BY_NOS = {"junos": "ssh", "eos": "eapi", "sonic": "ssh", "frr": "ssh"}


@pytest.fixture
def devices() -> Iterator[StandIns]:
    with stand_ins() as found:
        yield found


@cache
def designed(nos: str) -> Network:
    """The network as it is with another operating system on every switch."""
    return api.load(FABRIC, device=[f":{nos}"])


def said(nos: str, name: str, protocol: str) -> dict[str, str]:
    """What a stand-in of a system answers: its sample by the words it is asked in, and its designed configuration."""
    config = device_config(designed(nos), name)
    samples = importlib.import_module(f"tests.model.state.samples.{nos}")
    known = samples.ANSWERS
    rendered = system(nos).files(config)
    files = {
        "junos": {"configuration": "junos.set"},
        "eos": {"configuration": "eos.conf"},
        "frr": {"configuration": "frr.conf"},
    }
    files["sonic"] = {"configuration": "config_db.json", "configuration-frr": "frr.conf"}
    answers: dict[str, str] = {}
    reader = system(nos).state
    assert reader is not None
    examples = [("default", "fc00:1:2:1::/64"), ("tenant-1", "fc00:1:2:101::/64")]
    for one in reader.questions(config, examples, tables=True):
        text = rendered.get(files[nos].get(one.name, "")) or known.get(one.name)
        text = samples.EMPTY_TABLE if text is None and one.name.startswith("routes-") else text
        text = "[]" if text is None and one.name.startswith("fib-") else text
        if text is not None and protocol in one.asked:
            words = one.asked[protocol]
            answers[f"{words} revision {one.revision}" if one.revision and protocol == "eapi" else words] = text
    return answers


def started(devices: StandIns, nos: str, name: str, **faults) -> StandIn:
    protocol = BY_NOS[nos]
    return (devices.web if protocol == "eapi" else devices.ssh)(said(nos, name, protocol), **faults)


def access_file(folder: Path, by_name: dict[str, StandIn], known: Path, **more) -> Path:
    path = folder / "access.yaml"
    login = {"user": USER, "password": "env:READER", "known_hosts": str(known), "tls": False}
    entries = {name: {"address": "127.0.0.1", "ports": dict.fromkeys(PORTS, one.port)} for name, one in by_name.items()}
    path.write_text(yaml.safe_dump({"defaults": login, "devices": entries} | more))
    return path


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["collect", *map(str, words)])
    assert PASSWORD not in result.output
    return result.exit_code, result.output


@pytest.fixture
def network():
    return example("evpn-gpu-isolation")


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["junos", "eos", "sonic"])
def test_what_devices_say_becomes_a_capture_that_others_read(nos, devices, network, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    names = [one.name for one in network.switches][:3]
    by_name = {name: started(devices, nos, name) for name in names}
    access = access_file(tmp_path, by_name, trusting(tmp_path, *by_name.values()))
    changed = designed(nos)
    result = api.collect(changed, tmp_path / "capture", access=access, only=names)
    assert [(one.device, one.status, one.failed, one.error) for one in result.outcomes] == [
        (name, "answered", {}, "") for name in names
    ]
    found = api.states(changed, tmp_path / "capture")
    assert set(found) == set(names)
    for one in found.values():
        assert one.notes == ()
        assert one.interfaces
        assert one.bgp
        assert one.neighbors
    drift = api.drift(changed, tmp_path / "capture")
    assert drift.compared == 3
    assert drift.equal, "\n".join(drift.lines())


def test_one_that_fails_stops_no_other(devices, network, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    names = [one.name for one in network.switches][:7]
    faults = {1: {"cut_after": 3}, 3: {"late_s": 0.05}, 4: {"cut_after": 5, "cuts": 1}}
    by_name = {name: started(devices, "frr", name, **faults.get(number, {})) for number, name in enumerate(names)}
    garbage = by_name[names[5]]
    garbage.answers = dict.fromkeys(garbage.answers, "\x00\udcff{[<garbage")
    trusted = [one for number, one in enumerate(by_name.values()) if number != 2]
    access = access_file(tmp_path, by_name, trusting(tmp_path, *trusted), attempts=2)
    text = yaml.safe_load(access.read_text())
    text["devices"][names[6]]["ports"] = dict.fromkeys(PORTS, 1)
    access.write_text(yaml.safe_dump(text))
    words = [
        FABRIC,
        "--device",
        ":frr",
        "-o",
        tmp_path / "capture",
        "--access",
        access,
        *(f"--only={name}" for name in names),
    ]
    code, output = run(*words)
    assert code == 1, output
    rows = read_capture(tmp_path / "capture").meta.devices
    statuses = [rows[name].status for name in names]
    assert statuses == ["answered", "partly", "failed", "answered", "answered", "answered", "failed"], output
    assert [rows[names[number]].kind for number in (1, 2, 6)] == ["lost", "host key", "unreachable"]
    assert "ssh-keyscan" in rows[names[2]].error
    assert by_name[names[2]].asked == []
    assert by_name[names[1]].logins == by_name[names[4]].logins == 2
    assert f"{names[6]}: failed" in output
    states = api.states(designed("frr"), tmp_path / "capture")
    assert set(states) == set(names) - {names[2], names[6]}
    assert states[names[5]].notes
    assert states[names[5]].bgp is None
    assert not states[names[0]].notes
    assert states[names[1]].answered < states[names[0]].answered
    for path in (tmp_path / "capture").rglob("*"):
        assert PASSWORD.encode() not in (path.read_bytes() if path.is_file() else b"")


def test_an_earlier_capture_is_replaced_as_a_whole_and_nothing_else_is(devices, network, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    name = network.switches[0].name
    device = started(devices, "frr", name)
    access = access_file(tmp_path, {name: device}, trusting(tmp_path, device))
    capture = tmp_path / "capture"
    words = [FABRIC, "--device", ":frr", "--access", access, f"--only={name}", "--quiet", "-o"]
    assert run(*words, capture)[0] == 0
    (capture / name / "left-over.txt").write_text("x")
    assert run(*words, capture)[0] == 0
    assert not (capture / name / "left-over.txt").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["access.yaml", "capture", "known_hosts"]
    assert (capture / name / "configuration.txt").stat().st_mode & 0o077 == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="no capture"):
        api.collect(designed("frr"), other, access=access, only=[name])
    assert [one.name for one in other.iterdir()] == ["mine.txt"]
    device.answers = {}
    with monkeypatch.context() as patch:
        patch.setattr("railweave.live.collect.collect.json.dumps", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            api.collect(designed("frr"), capture, access=access, only=[name])
    assert (capture / name / "bgp.json").is_file()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["access.yaml", "capture", "known_hosts", "other"]


def _interrupted(*_: object, **__: object) -> str:
    raise KeyboardInterrupt


def test_servers_are_asked_by_the_program_that_is_on_them(devices, network, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    name = network.servers[0].name
    device = devices.ssh({"railweave-host show --json": '{"links": []}'})
    access = access_file(tmp_path, {name: device}, trusting(tmp_path, device))
    assert api.collect(network, tmp_path / "capture", access=access, only=[name]).complete
    assert read_capture(tmp_path / "capture").texts(name) == {"host": '{"links": []}'}


def test_questions_are_printed_for_whoever_asks_by_hand(network) -> None:
    name = network.switches[0].name
    code, output = run(FABRIC, "--questions", f"--only={name}")
    assert code == 0
    lines = output.splitlines()
    assert lines[0] == f"{name}:"
    assert any(
        line.split() == ["configuration.txt", "show", "configuration", "|", "display", "set", "|", "no-more"]
        for line in lines
    )
    code, output = run(FABRIC, "--questions", "--json", "--servers")
    assert code == 0
    asked = json.loads(output)
    assert set(asked) == {*(one.name for one in network.switches), *(one.name for one in network.servers)}
    with pytest.raises(InputError, match="it is missing"):
        CliRunner().invoke(app, ["collect", str(FABRIC)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("defaults:\n  password: hunter2-abc\n", 2, "a password stands here"),
        ("devices:\n  nobody: {user: x}\n", 2, "no device 'nobody'"),
        ("roles:\n  boss: {user: x}\n", 2, "no role 'boss'"),
        ("systems:\n  ios: {user: x}\n", 2, "no system 'ios'"),
        ("defaults: {jump: b}\n", 1, "no jump host 'b'"),
        ("jump_hosts:\n  a: {address: x, jump: b}\n  b: {address: y, jump: a}\n", 2, "through itself"),
        ("defaults:\n  protocols: [telnet]\n", 2, "telnet"),
        ("defaults:\n  ports: {ssh: 0}\n", 2, ""),
        ("at_once: 0\n", 1, ""),
    ],
)
def test_what_is_wrong_in_access_yaml_is_told_with_its_line(network, tmp_path, text, line, what) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        api.collect(network, tmp_path / "capture", access=path)
    assert f"{path}:{line}: " in str(caught.value)
    assert what in str(caught.value)
    assert "hunter2-abc" not in f"{caught.value!r} {caught.value}"
    assert not (tmp_path / "capture").exists()


SECRETS = {
    "junos.set": (
        'set system root-authentication encrypted-password "$6$abcdefgh$tops3cret"\n'
        'set protocols bgp group x authentication-key "$9$tops3cret" ## SECRET-DATA\n'
        "set security macsec connectivity-association interconnect pre-shared-key cak tops3cret\n"
        'set security certificates local x "-----BEGIN RSA PRIVATE KEY-----\\ntops3cret\\n-----END RSA PRIVATE KEY-----"\n'
        "set snmp community tops3cret authorization read-only\nset interfaces et-0/0/0 mtu 9216\n"
    ),
    "junos.conf": (
        'system {\n    root-authentication {\n        encrypted-password "$6$a$tops3cret";\n    }\n}\n'
        "snmp {\n    community tops3cret {\n        authorization read-only;\n    }\n}\n"
        "policy-options {\n    community 65000:1 members 65000:1;\n}\n"
    ),
    "eos.conf": (
        "username admin secret sha512 $6$abc$tops3cret\nsnmp-server community tops3cret ro\n"
        "router bgp 1\n   neighbor x password 7 tops3cret\ninterface Ethernet1\n   mtu 9200\n"
        "mac security\n   profile x\n      key 50 0 tops3cret\ntacacs-server host 192.0.2.1 key 7 tops3cret\n"
        "snmp-server user u g v3 auth sha tops3cret priv aes tops3cret\n"
    ),
    "frr.conf": "router bgp 1\n neighbor x password tops3cret\n bgp router-id 10.0.0.1\n",
    "sonic.cli": "username admin password tops3cret role admin\nsnmp-server community tops3cret\ninterface Eth1/1\n mtu 9216\n",
    "config_db.json": json.dumps(
        {
            "SNMP_COMMUNITY": {"tops3cret": {"TYPE": "RO"}},
            "TACPLUS": {"global": {"passkey": "tops3cret", "timeout": "5"}},
            "BGP_NEIGHBOR": {"x": {"auth_password": "tops3cret", "asn": "1"}},
            "MACSEC_PROFILE": {"x": {"primary_cak": "tops3cret", "primary_ckn": "50"}},
            "PORT": {"Ethernet0": {"mtu": "9100"}},
        }
    ),
    "junos.xml": "<configuration><authentication-key>tops3cret</authentication-key><mtu>9216</mtu></configuration>",
    "path.json": json.dumps({"community": {"string": "65000:1", "list": ["65000:1"]}, "password": "tops3cret"}),
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_taken_out_and_nothing_else(name) -> None:
    text = SECRETS[name]
    found = redacted(text)
    assert "tops3cret" not in found
    for kept in ("9216", "9200", "9100", "10.0.0.1", "65000:1", "read-only", "role admin", " ro\n", "Eth1/1"):
        assert found.count(kept) == text.count(kept)
    assert redacted(found) == found


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "frr", "dell_sonic"])
def test_what_holds_no_secret_is_kept_as_it_is(nos) -> None:
    for name, text in importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS.items():
        assert redacted(text) == text, name
    for network in (example("evpn-gpu-isolation"), example("h100-rlb")):
        for file, text in system(nos).files(device_config(network, network.switches[0].name, nos)).items():
            lines = [
                (one, other)
                for one, other in zip(text.split("\n"), redacted(text).split("\n"), strict=True)
                if one != other
            ]
            assert lines == [], file


@pytest.mark.parametrize(
    ("text", "servers", "expected"),
    [
        ("{}", None, False),
        ("defaults: {user: ops}", None, False),
        ("devices: {stripe1-leaf1: {user: ops}}", None, False),
        ("roles: {server: {user: ops}}", None, True),
        ("devices: {H100-01: {user: ops}}", None, True),
        ("roles: {server: {user: ops}}", False, False),
        ("{}", True, True),
    ],
)
def test_servers_are_asked_where_access_yaml_has_a_login_for_them(text, servers, expected, tmp_path) -> None:
    (tmp_path / "access.yaml").write_text(text)
    asked = plan(example("h100-rlb"), read_access(tmp_path / "access.yaml"), servers=servers)
    assert {device.target.name for device in asked if not device.system} == (
        {server.name for server in example("h100-rlb").servers} if expected else set()
    )


@pytest.mark.parametrize(("system", "tries"), [("", 1), ("frr", 3)])
def test_a_server_that_is_down_is_tried_once(system, tries, monkeypatch) -> None:
    logins: list[str] = []

    async def opened(target, protocol):
        logins.append(target.name)
        raise ReachError("unreachable", "no answer")

    async def at_once(_):
        return None

    monkeypatch.setattr(queries.asyncio, "sleep", at_once)
    device = next(one for one in plan(example("h100-rlb"), read_access(None), servers=True) if one.system == "")
    device = replace(device, system=system)
    outcome = asyncio.run(queries.query_device(device, lambda *_: None, attempts=3, open_by=opened))
    assert (outcome.status, outcome.kind, len(logins)) == ("failed", "unreachable", tries)


@pytest.mark.parametrize("name", ["h100-rlb", "two-planes", "aidc-three-fabrics", "mi300x-leaf-31"])
def test_the_example_prefixes_asked_about_are_those_that_are_expected(name) -> None:
    network = example(name)
    configs = {switch.name: device_config(network, switch.name) for switch in network.switches}
    routes = ControlPlane(configs.values()).routes()
    for config in configs.values():
        expected = [str(route.prefix) for route in example_routes(network, config, routes)]
        assert not expected or [prefix for _, prefix in example_prefixes(network, config)] == expected
