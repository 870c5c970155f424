"""NIC and leaf agree on what both need, and every way not to agree is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import SMALL, designed, example

from railweave.analysis.checks.agree import qos_disagree
from railweave.analysis.checks.buffers import lossless_shares
from railweave.analysis.checks.subject import Subject
from railweave.model.device.host import host_config
from railweave.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

FILE = """
name: small
fabrics:
  backend:
    topology: {{stripes: 1, spines: 2}}
    leaf: {{device: {device}}}
    qos: {qos}
servers: [{{names: "gpu-[1-2]", model: {server}}}]
hosts: {hosts}
"""

ALL_OF_IT = "{classes: {best-effort: {bandwidth: null}, cnp: {bandwidth: null}, network-control: {bandwidth: null}, no-loss: {transmit_percent: 100}}}"


def small(
    folder: Path, qos: str = "{}", hosts: str = "{}", server: str = "h100-8gpu-cx7", device: str = "qfx5240-64od"
) -> Network:
    return designed(folder, FILE.format(qos=qos, hosts=hosts, server=server, device=device))[0]


def found(network: Network) -> list[Finding]:
    return list(qos_disagree.run(Subject.of(network)))


@pytest.mark.parametrize("name", SMALL)
def test_examples_agree(name: str) -> None:
    assert found(example(name)) == []
    assert list(lossless_shares.run(Subject.of(example(name)))) == []


def shares(network: Network) -> tuple[int | None, int]:
    """What the leaf guarantees RDMA data, and what the NIC does."""
    leaf = Subject.of(network).configs["stripe1-leaf1"].qos
    assert leaf is not None
    return leaf.classes["no-loss"].transmit_percent, host_config(network, "gpu-1").qos[0].bandwidth_percent


@pytest.mark.parametrize(
    ("qos", "hosts", "wanted"),
    [
        ("{}", "{}", (85, 85)),
        ("{classes: {no-loss: {bandwidth: 60}}}", "{}", (60, 60)),
        ("{classes: {no-loss: {transmit_percent: 60}}}", "{}", (60, 60)),
        ("{classes: {no-loss: {bandwidth: 60}}}", "{roce_bandwidth: 60}", (60, 60)),
        ("{classes: {no-loss: {bandwidth: 60, transmit_percent: 70}}}", "{}", (70, 60)),
        ("{}", "{roce_bandwidth: 50}", (85, 50)),
        (ALL_OF_IT, "{}", (100, 99)),
        ("{classes: {no-loss: {transmit_percent: null}}}", "{}", (None, 50)),
    ],
)
@pytest.mark.parametrize("server", ["h100-8gpu-cx7", "mi300x-8gpu-thor2"])
def test_one_intent_gives_both_shares(
    tmp_path: Path, qos: str, hosts: str, wanted: tuple[int | None, int], server: str
) -> None:
    network = small(tmp_path, qos, hosts, server)
    assert shares(network) == wanted
    ids = [(one.id, one.severity) for one in found(network)]
    both = wanted[0] is None or min(wanted[0], 99) == wanted[1]
    assert ids == ([] if both else [("qos-disagree", "warning")])


@pytest.mark.parametrize("nos", systems())
def test_every_system_and_its_servers_agree(nos: str, tmp_path: Path) -> None:
    device = {"eos": "arista-7060x6-64pe", "sonic": "sse-t8164", "dell_sonic": "z9864f-on"}.get(nos, "qfx5240-64od")
    network = small(tmp_path, device=f"{device}, nos: {nos}")
    assert found(network) == []


def test_what_follows_is_written(tmp_path: Path) -> None:
    (said,) = found(small(tmp_path, hosts="{roce_bandwidth: 50}"))
    assert said.what == "ETS share: the NIC guarantees its data 50 %, the leaf 85 %"
    assert said.where.startswith("gpu-1:gpu0_eth at stripe1-leaf1 ")
    assert said.where.endswith(" and 15 more")


STORAGE = "storage: {queue: 5, dscp: [18], lossless: true, pfc_priority: 4, bandwidth: 30"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"transmit_percent": 20}, "ETS share: the NIC guarantees class storage 30 %, the leaf 20 %"),
        ({"pfc_priority": 5}, "priority: the NIC is paused for 4 (class storage, DSCP 18), the leaf pauses 5"),
        ({"ecn": None}, "ECN: the leaf does not mark DSCP 18, and congestion control of the NIC is on"),
    ],
)
def test_every_lossless_class_is_compared(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    subject = Subject.of(small(tmp_path, f"{{classes: {{no-loss: {{bandwidth: 50}}, {STORAGE}, ecn: {{}}}}}}}}"))
    assert list(qos_disagree.run(subject)) == []
    config = subject.configs["stripe1-leaf1"]
    assert config.qos is not None
    classes = {**config.qos.classes, "storage": replace(config.qos.classes["storage"], **changed)}
    subject.configs["stripe1-leaf1"] = replace(config, qos=replace(config.qos, classes=classes))
    assert [one.what for one in qos_disagree.run(subject)] == [said]


def test_a_second_class_with_a_weight_of_its_own_is_found(tmp_path: Path) -> None:
    qos = f"{{classes: {{no-loss: {{bandwidth: 50}}, {STORAGE}, transmit_percent: 20}}}}}}"
    assert [(one.what, one.severity) for one in found(small(tmp_path, qos))] == [
        ("ETS share: the NIC guarantees class storage 30 %, the leaf 20 %", "warning")
    ]


def leaf_changed(**data: Any) -> Subject:
    """The RLB example, one of whose leaves has something else for RDMA data."""
    subject = Subject.of(example("h100-rlb"))
    config = subject.configs["stripe1-leaf1"]
    assert config.qos is not None
    classes = {**config.qos.classes, "no-loss": replace(config.qos.classes["no-loss"], **data)}
    if 48 in classes["no-loss"].dscp:
        del classes["cnp"]
    subject.configs["stripe1-leaf1"] = replace(config, qos=replace(config.qos, classes=classes))
    return subject


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dscp": (24,)}, "DSCP: the NIC's data has DSCP 26, which is in no lossless class of the leaf"),
        ({"pfc_priority": 4}, "priority: the NIC is paused for 3, the leaf pauses 4"),
        ({"ecn": None}, "ECN: the leaf does not mark DSCP 26, and congestion control of the NIC is on"),
        ({"dscp": (26, 48)}, "CNP: the leaf has congestion notification (DSCP 48) in the class of the data"),
        ({"transmit_percent": 40}, "ETS share: the NIC guarantees its data 85 %, the leaf 40 %"),
    ],
)
def test_a_leaf_of_its_own_mind_is_found(changed: dict[str, Any], said: str) -> None:
    assert said in [one.what for one in qos_disagree.run(leaf_changed(**changed))]


def _no_pfc(config: DeviceConfig) -> DeviceConfig:
    assert config.qos is not None
    return replace(config, qos=replace(config.qos, profiles=()))


def _short(config: DeviceConfig) -> DeviceConfig:
    return replace(config, gateways=tuple(replace(one, mtu=1500) for one in config.gateways))


def _small_frames(config: DeviceConfig) -> DeviceConfig:
    return replace(config, interfaces=tuple(replace(one, mtu=1514) for one in config.interfaces))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_no_pfc, "PFC: the NIC takes pauses for priority 3, and PFC is off at the leaf's port"),
        (_short, "MTU: the NIC sends packets of 9000 bytes, the gateway takes 1500"),
        (_small_frames, "MTU: packets of 9000 bytes do not fit the port's frames of 1514"),
    ],
)
def test_a_port_of_its_own_mind_is_found(change: Callable[[DeviceConfig], DeviceConfig], said: str) -> None:
    subject = Subject.of(example("h100-rlb"))
    subject.configs["stripe1-leaf1"] = change(subject.configs["stripe1-leaf1"])
    found = list(qos_disagree.run(subject))
    assert [one.what for one in found] == [said]
    assert {one.severity for one in found} == {"error"}


@pytest.mark.parametrize(("device", "wrong"), [("qfx5220-32cd", True), ("qfx5230-64cd", True), ("qfx5240-64od", False)])
def test_lossless_shares_of_both_directions(tmp_path: Path, device: str, wrong: bool) -> None:
    qos = "{buffers: {egress_lossless: 70}}"
    text = small(tmp_path, qos, device=device)
    said = list(lossless_shares.run(Subject.of(text)))
    assert [one.severity for one in said[:1]] == (["error"] if wrong else [])
    equal = small(tmp_path, device=device)
    assert list(lossless_shares.run(Subject.of(equal))) == []
