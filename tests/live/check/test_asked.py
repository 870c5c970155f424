"""Each finding of a running network ends at the field of the fabric file that requires what is wrong, or at the field's default."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.checks.causes import Cause
from railweave.analysis.checks.devices import saved
from railweave.live.check import NetworkStates, diagnose
from railweave.live.check.identity import configurations, required
from railweave.live.check.living import Deviation, asked_by
from railweave.live.check.ports import MTU
from railweave.model.device.config_file import to_document
from railweave.model.device.fields import FieldDifference
from railweave.model.findings.registry import Rule, rules_of
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.reading.document import models_at
from railweave.model.intent.reading.source import Field, Fields
from railweave.outputs.folder.sources import fields_of
from railweave.systems import system
from tests.conftest import EXAMPLES
from tests.live.check.faults import KINDS
from tests.live.check.matrix import wanted
from tests.live.check.test_servers import living as of_servers

DEFAULT = "fabrics.backend.{}: default {} of fabric-file.md"
RLB = {
    "identity.host_name": DEFAULT.format("naming.leaf", "{stripe}-leaf{leaf}"),
    "identity.model": "leaf.device: qfx5240-64od",
    "identity.version": "leaf.release: 25.4R1",
    "clock.synchronized": "ntp: [172.20.0.3]",
    "neighbors.port": "topology.links_per_spine: 1",
    "interfaces.speed_gbps": "topology.link_speed: 400G",
    "interfaces.mtu": DEFAULT.format("mtu.fabric", "9216"),
    "interfaces.errors.in_resource": DEFAULT.format("qos.buffers.headroom", "10"),
    "interfaces.addresses": "addressing.server_pool: fc00::/16",
    "optics.present": "fabrics.backend.cabling.fabric.optic: default of fabric-file.md: the shortest reach that is long enough",
    "advertising.interval_s": DEFAULT.format("router_advertisements.max_interval", "600"),
    "advertising.hop_limit": DEFAULT.format("router_advertisements.hop_limit", "64"),
    "bgp.state": DEFAULT.format("underlay.peering", "auto-discovered"),
    "bgp.peer_as": DEFAULT.format("pools.spine_asn", "4200000001-4200000999"),
    "bfd.tx_ms": DEFAULT.format("underlay.bfd.minimum_interval", "1000"),
    "bfd.multiplier": DEFAULT.format("underlay.bfd.multiplier", "3"),
    "queues.ingress.dropped": DEFAULT.format("qos.buffers.lossless", "80"),
}
"""What h100-rlb asks for, by the kind of fault."""


def _asked(name: str, kind: str, seed: int) -> tuple[str, str, int] | None:
    """The file, field and line of the first finding about a drawn fault. None if the network has nothing of the kind."""
    subject, made, states = wanted(name, "junos")
    living = NetworkStates(subject.network, made, states)
    dice = random.Random(seed)  # noqa: S311 - repeatable
    fault = next((fault for _ in range(8) if (fault := KINDS[kind](dice, living))), None)
    if fault is None:
        return None
    faulty = replace(living, states=states | fault.states, before=states if fault.counted else {})
    finding = next(iter(diagnose(faulty, fields_of(EXAMPLES / f"{name}.yaml"))), None)
    return None if finding is None else (finding.file, finding.field, finding.line)


@pytest.mark.parametrize("name", ["h100-rlb", "multitenancy-lab"])
def test_a_finding_of_every_kind_ends_at_a_field(name: str) -> None:
    lines = (EXAMPLES / f"{name}.yaml").read_text().splitlines()
    asked = {kind: place for kind in KINDS if (place := _asked(name, kind, 5)) is not None}
    assert len(asked) > 50
    for kind, (file, field, line) in asked.items():
        path, _, value = field.partition(": ")
        assert file == f"{name}.yaml", kind
        if line:
            assert re.search(rf"\b{path.rpartition('.')[2]}:", lines[line - 1]), (kind, field, line)
            assert value.rstrip("…")[:20].replace(" ", "") in re.sub(r"[\" ]", "", lines[line - 1]), (kind, field)
        else:
            *section, last = path.split(".")
            assert any(last in model.model_fields for model in models_at(FabricFile, tuple(section))), (kind, field)
            assert "of fabric-file.md" in value


@pytest.mark.parametrize("kind", RLB)
def test_the_field_is_the_one_that_requires_the_value(kind: str) -> None:
    asked = [_asked("h100-rlb", kind, seed) for seed in (1, 2)]
    assert RLB[kind] in {place[1] for place in asked if place is not None}


def test_every_rule_names_fields_that_there_are() -> None:
    rules: list[Rule] = [
        *rules_of("railweave.live.check").values(),
        *(rule for rule in rules_of("railweave.operations.watch").values() if rule.applies == "living"),
    ]
    assert {rule.id for rule in rules if not rule.asked} == {
        "capture-device-unknown",
        "communicator-below-prediction",
        "inspector-not-read",
        "store-not-written",
    }
    inside = {"": ("fabrics", "x"), "role": ("fabrics", "x", "leaf"), "qos": ("fabrics", "x", "qos")}
    several = {
        "{field}": ("vni", "route_target", "route_distinguisher", "max_interval", "minimum_interval"),
        "{ports}": ("fabric", "server_port"),
        "{cabling}": ("fabric", "server", "interconnect"),
        "{links}": ("links_per_spine", "links_per_super_spine"),
        "{tier}": ("stripes", "spines", "super_spines", "interconnect"),
        "{role}": ("leaf", "spine", "super_spine", "dci"),
        "{peer_role}_asn": ("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn"),
    }
    for rule in rules:
        for template in rule.asked:
            head, *keys = template.rpartition("?")[2].split(".")
            if head == "inventory":
                continue
            path = (*inside.get(head, (head,)), *keys)
            last = several.get(path[-1], (path[-1],))
            section = tuple("server" if key == "{cabling}" else key for key in path[:-1])
            fields = {field for model in models_at(FabricFile, section) for field in model.model_fields}
            assert fields.intersection(last) if path[-1] == "{field}" else fields >= {*last}, (rule.id, template)


def test_nics_end_at_their_servers_group_and_their_inventory() -> None:
    living = of_servers("h100-rlb")
    name, server = next(iter(living.servers_expected.items()))
    nic = server.nics[0]
    state = living.hosts[name]
    interfaces = dict(state.interfaces or {})
    changes = {
        "nic-mtu-differs": {"mtu": 1500},
        "nic-speed-differs": {"speed_gbps": 100.0},
        "nic-down": {"oper_up": False},
    }
    expected = {
        "nic-mtu-differs": DEFAULT.format("mtu.server", "9000"),
        "nic-speed-differs": "model: h100-8gpu-cx7",
        "nic-down": "names: H100-[01-02]",
    }
    for rule, change in changes.items():
        faulty = interfaces | {nic.netdev: replace(interfaces[nic.netdev], **change)}
        hosts = living.hosts | {name: replace(state, interfaces=faulty)}
        found = diagnose(replace(living, hosts=hosts), fields_of(EXAMPLES / "h100-rlb.yaml"))
        assert [finding.field for finding in found if finding.id == rule] == [expected[rule]]


def test_overrides_sections_of_roles_and_the_inventory_come_first(tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    file.write_text(
        "name: net\n"
        "fabrics:\n"
        "  f:\n"
        "    topology: {spines: 2}\n"
        "    leaf: {device: a, release: '1'}\n"
        "    spine: {device: b, qos: {profile: evpn-default, buffers: {headroom: 7}}}\n"
        "    qos: {buffers: {lossless: 70}}\n"
        "    overlay: {bfd: {multiplier: 5}}\n"
        "overrides:\n"
        "  devices:\n"
        "    leaf[1-2]: {release: '2'}\n"
    )
    (tmp_path / "net.inventory.csv").write_text(
        "device,interface,serial,mac\nleaf1,,S1,\nh1,gpu0_eth,,a0:88:c2:3b:50:66\n"
    )
    line = Fields(file)
    fabric = ("fabrics", "f")

    def release(device: str, section: str) -> list[Field]:
        own, whole = ("overrides", "devices", device, "release"), (*fabric, section)
        return [Field(own, own), Field((*whole, "release"), whole), Field((*fabric, "leaf", "release"))]

    assert line(release("leaf2", "leaf")) == ("net.yaml", 11, "release: 2")
    assert line(release("leaf3", "leaf")) == ("net.yaml", 5, "leaf.release: 1")
    assert line(release("spine1", "spine"))[1:] == (
        0,
        "fabrics.f.spine.release: default of fabric-file.md: the catalog's release for the system and the switch model",
    )
    assert line(release("super1", "super_spine")) == ("net.yaml", 5, "leaf.release: 1")
    assert line([Field((*fabric, "spine", "qos", "buffers", "headroom"))]) == (
        "net.yaml",
        6,
        "spine.qos.buffers.headroom: 7",
    )
    assert line([Field((*fabric, "spine", "qos", "buffers", "lossless"))]) == ("net.yaml", 6, "profile: evpn-default")
    assert line([Field((*fabric, "qos", "buffers", "headroom"))]).field == DEFAULT.format(
        "qos.buffers.headroom", "10"
    ).replace("backend", "f")
    assert line([Field((*fabric, "overlay", "bfd", "multiplier"))]) == ("net.yaml", 8, "overlay.bfd.multiplier: 5")
    assert line([Field(("inventory", "serial", "leaf1"))]) == ("net.inventory.csv", 2, "serial: S1")
    assert line([Field(("inventory", "mac", "h1", "gpu0_eth"))]) == ("net.inventory.csv", 3, "mac: a0:88:c2:3b:50:66")
    assert line([]) == ("", 0, "")


STATEMENTS = {
    "hostname stripe1-leaf1": DEFAULT.format("naming.leaf", "{stripe}-leaf{leaf}"),
    " receive-interval 1000": DEFAULT.format("underlay.bfd.minimum_interval", "1000"),
    " detect-multiplier 3": DEFAULT.format("underlay.bfd.multiplier", "3"),
    " bgp router-id 10.255.0.1": DEFAULT.format("pools.router_id", "10.255.0.0/16"),
    "router bgp 4200001001": DEFAULT.format("pools.leaf_asn", "4200001001-4200099999"),
    "  maximum-paths 4": "fabrics.backend.underlay.maximum_ecmp: default of fabric-file.md: the smallest number that the device allows and that is large enough",
    "  neighbor spine-red route-map from-red in": "addressing.local_prefixes: [fc00::/16, fd00::/16]",
    " set local-preference 200": "colors: [{name: green}, {name: blue}, {name: red}, {nam…",
    " ipv6 nd ra-lifetime 1800": DEFAULT.format("router_advertisements.router_lifetime", "1800"),
    "ipv6 forwarding": DEFAULT.format("leaf.nos", "junos"),
}
"""Statements of FRRouting on a leaf of h100-rlb, and the fields that require them."""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_that_differs_ends_at_the_field_that_requires_it(statement: str) -> None:
    subject, made, states = wanted("h100-rlb", "frr")
    config = subject.configs["stripe1-leaf1"]
    texts = system("frr").files(config)
    number = re.search(r"\d+$", statement)
    other = f"{statement[: number.start()]}{int(number[0]) + 1}" if number else "log syslog"
    running = texts | {"frr.conf": texts["frr.conf"].replace(f"{statement}\n", f"{other}\n")}
    living = NetworkStates(
        subject.network,
        {config.name: made[config.name]},
        {config.name: states[config.name]},
        configurations=saved({config.name: config}, {config.name: running}),
    )
    first = next(configurations(living))
    assert fields_of(EXAMPLES / "h100-rlb.yaml")(asked_by(living, first)).field == STATEMENTS[statement]


def test_every_field_of_a_configuration_leads_to_a_field_of_the_fabric_file() -> None:
    def walk(document: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield path
        if isinstance(document, dict):
            for key, value in document.items():
                yield from walk(value, path if path[-1:] in NAMED else (*path, str(key)))
        elif isinstance(document, list):
            for value in document:
                yield from walk(value, path)

    subject, _, _ = wanted("multitenancy-lab", "junos")
    paths = {path for config in subject.configs.values() for path in walk(to_document(config), ()) if path}
    for path in paths:
        difference = FieldDifference(path, ".".join(path), None, None)
        for template in required(Cause("", 0, "add", "", "x", (difference,))):
            head, *keys = template.format(role="leaf", device="x", ports="fabric").split(".")
            inside = {"": ("fabrics", "x"), "role": ("fabrics", "x", "leaf"), "qos": ("fabrics", "x", "qos")}
            whole = (*inside.get(head, (head,)), *keys)
            known = {
                *(field for model in models_at(FabricFile, whole[:-1]) for field in model.model_fields),
                "leaf_asn",
            }
            assert whole[-1] in known, (path, template)


NAMED = {("classes",), ("communities",), ("users",), ("marking",), ("families",)}
"""Fields that are maps by name."""


def test_an_mtu_of_the_file_has_its_line(tmp_path: Path) -> None:
    for suffix in ("yaml", "lock", "inventory.csv"):
        shutil.copy(EXAMPLES / f"h100-rlb.{suffix}", tmp_path)
    file = tmp_path / "h100-rlb.yaml"
    file.write_text(file.read_text().replace("    addressing:", "    mtu: {fabric: 9100}\n    addressing:"))
    subject, made, _ = wanted("h100-rlb", "junos")
    living = NetworkStates(subject.network, made, {})
    leaf = made["stripe1-leaf1"]
    places = {
        port.kind: fields_of(file)(asked_by(living, Deviation(MTU, leaf.device, "", port.because, port.name)))
        for port in leaf.ports
    }
    assert places["fabric"] == ("h100-rlb.yaml", 22, "mtu.fabric: 9100")
    assert places["server"].field == DEFAULT.format("mtu.server_port", "9216")
    assert fields_of(api.load(file))(asked_by(living, Deviation(MTU, leaf.device, ""))) == ("", 0, "")
