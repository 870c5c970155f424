"""A port is known by all the names that its system announces by LLDP, and a name that tells nothing is told as such."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.host.port_names import announced, by_names
from railweave.live.check.check import CheckResult, check
from railweave.live.check.living import Visibility
from railweave.model.network.devices import End
from railweave.model.network.model import Network
from railweave.model.state.capture import read_capture
from railweave.model.state.protocols import LldpNeighbor
from tests.retarget import retargeted

Said = tuple[str, str, str | None]
"""Kind and value of a port id, and the port's description."""
Form = Callable[[Network, End, End], Said]


def _description(far: End) -> str:
    return f"{far.device} {far.port}"


def _alias(network: Network, end: End) -> str:
    assert end.physical is not None
    return network.catalog.systems["sonic"].alias_of(end.physical, end.channel)


FORMS: dict[str, tuple[str, Form]] = {
    "SONiC": ("sonic", lambda net, end, far: ("local", _alias(net, end), _description(far))),
    "SONiC, no descriptions": ("sonic", lambda net, end, _: ("local", _alias(net, end), end.port)),
    "SONiC, the platform's own aliases": ("sonic", lambda _, end, far: ("local", f"etp{end.physical}", _description(far))),
    "SONiC, the platform's own aliases, no descriptions": ("sonic", lambda _, end, __: ("local", f"Eth{end.physical}(Port{end.physical})", end.port)),
    "SONiC before lldpmgrd": ("sonic", lambda _, end, __: ("ifname", end.port, end.port)),
    "EOS": ("eos", lambda _, end, far: ("interfaceName", f'"{end.port}"', _description(far))),
    "Junos": ("junos", lambda _, end, __: ("interface name", end.port, end.port)),
    "Junos, a unit": ("junos", lambda _, end, far: ("interface name", f"{end.port}.0", _description(far))),
    "Junos by default": ("junos", lambda _, end, far: ("locally assigned", "549", _description(far))),
    "Dell": ("dell_sonic", lambda _, end, far: ("ifname", end.port, _description(far))),
    "Dell, native names": ("dell_sonic", lambda _, end, far: ("local", f"Ethernet{end.physical}", _description(far))),
    "lldpd by default": ("frr", lambda _, end, __: ("mac", "02:00:5e:00:00:07", end.port)),
    "lldpd by name": ("frr", lambda _, end, __: ("ifname", end.port, None)),
}  # fmt: skip


def checked(
    network: Network, folder: Path, form: Form, cables: dict[tuple[str, str], End] | None = None
) -> CheckResult:
    """What ``check`` says where every switch hears its neighbors in this form; ``cables`` are far ends that are not as designed."""
    nics = {(server.name, nic.name): nic.netdev for server in network.servers for nic in server.nics}
    heard: dict[str, dict[str, tuple[LldpNeighbor, ...]]] = {one.name: {} for one in network.switches}
    far_of = {(a.device, a.port): b for one in network.cables for a, b in ((one.a, one.b), (one.b, one.a))}
    for cable in network.cables:
        for end, designed in ((cable.a, cable.b), (cable.b, cable.a)):
            if end.device not in heard:
                continue
            far = (cables or {}).get((end.device, end.port), designed)
            netdev = nics.get((far.device, far.port))
            kind, port, about = ("ifname", netdev, None) if netdev else form(network, far, far_of[far.device, far.port])
            said = LldpNeighbor(f"{far.device}.example.net", port, kind, about, "02:00:5e:00:00:01")
            heard[end.device][end.port] = (said,)
    for device in heard:
        (folder / device).mkdir(parents=True)
        for file, text in (
            ("version.txt", "it answered"),
            ("lldp-neighbors.json", '{"interfaces": {"interface": []}}'),
        ):
            (folder / device / file).write_text(text)
    return check(
        network,
        read_capture(folder),
        visible=Visibility(lambda state: replace(state, neighbors=heard[state.device])),
        progress=lambda _: None,
    )


def cable_findings(found: CheckResult) -> list[str]:
    return [one.id for one in found.findings if one.id.startswith("cable")]


@pytest.mark.parametrize("name", FORMS)
def test_cables_are_right_whatever_form_their_ports_are_announced_in(name: str, tmp_path: Path) -> None:
    nos, form = FORMS[name]
    assert cable_findings(checked(retargeted("evpn-functional", nos), tmp_path, form)) == []


@pytest.mark.parametrize("name", FORMS)
def test_swapped_cables_are_found_in_every_form(name: str, tmp_path: Path) -> None:
    nos, form = FORMS[name]
    network = retargeted("evpn-functional", nos)
    one, other = [cable for cable in network.cables if cable.kind == "fabric" and cable.a.device == "leaf1"][:2]
    assert one.b.device == other.b.device  # two ports of one spine: the device alone does not tell
    ends = {(one.a.device, one.a.port): other.b, (other.a.device, other.a.port): one.b}
    ends |= {(one.b.device, one.b.port): other.a, (other.b.device, other.b.port): one.a}
    assert cable_findings(checked(network, tmp_path, form, ends)) == ["cables-swapped"]


@pytest.mark.parametrize("said", [("mac", "02:00:5e:00:00:07", None), ("local", "549", None), ("local", "x", "uplink")])
def test_an_id_that_only_the_neighbor_knows_is_unclear(said: Said, tmp_path: Path) -> None:
    found = checked(retargeted("evpn-functional", "sonic"), tmp_path, lambda *_: said)
    assert set(cable_findings(found)) == {"cable-unclear"}
    assert {one.severity for one in found.findings if one.id == "cable-unclear"} == {"warning"}
    unclear = next(one for one in found.findings if one.id == "cable-unclear")
    assert f"hears {'spine1.example.net'} {said[1]}" in unclear.what
    assert "more" in unclear.what


def test_a_port_that_the_design_has_no_cable_in_is_wrong(tmp_path: Path) -> None:
    found = checked(retargeted("evpn-functional", "sonic"), tmp_path, lambda *_: ("local", "Eth1/64/8", "spare"))
    assert set(cable_findings(found)) == {"cable-wrong"}


PORTS = by_names({"A": ("Ethernet0", "Eth1/1/1", "s1 eth1"), "B": ("Ethernet8", "Eth1/1/2", "s1 eth2")})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (("Eth1/1/2", "local", "s1 eth1"), (True, "B")),  # the id is the port's, a description may be old
        (("Eth1/2/1", "local", "s1 eth1"), (True, None)),
        (("Ethernet16", "ifname", "s1 eth1"), (True, None)),
        (("Eth1/2", "local", None), (True, None)),
        (("549", "local", "s1 eth2"), (True, "B")),
        (("549", "local", "Ethernet400"), (True, None)),
        (("549", "local", None), (False, None)),
        (("0200.5e00.0007", "mac", "Ethernet0"), (True, "A")),
        (("0200.5e00.0007", "mac", None), (False, None)),
        (("192.0.2.1", "networkAddress", None), (False, None)),
        (("mgmt0", "ifname", None), (True, None)),
        (("etp1", "local", None), (False, None)),
        (("", None, None), (False, None)),
        ((None, None, "s1 eth1"), (True, "A")),
    ],
)
def test_the_port_of_an_announcement(
    said: tuple[str | None, str | None, str | None], told: tuple[bool, str | None]
) -> None:
    assert announced(PORTS, *said) == told


def test_a_name_that_two_ports_have_tells_neither() -> None:
    ports = by_names({"A": ("eth2", "gpu0", "02:00:5E:00:00:07"), "B": ("eth3", "gpu1", ""), "C": ("eth3", "eth2", "")})
    assert ports == {"eth2": "A", "gpu0": "A", "gpu1": "B", "02:00:5e:00:00:07": "A"}
