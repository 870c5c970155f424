"""The parts of an import by themselves: wiring, prefixes, ports, names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.analysis.adopt.addressing import NumberedPrefix, rule
from railweave.analysis.adopt.adopt import imported
from railweave.analysis.adopt.cabling import LinkPort, port_range
from railweave.analysis.adopt.draft import Draft
from railweave.analysis.adopt.equipment import Place
from railweave.analysis.adopt.tenancy import members
from railweave.analysis.adopt.wiring import End, wiring
from railweave.model.config.addresses import InterfaceAddress, Prefix
from railweave.model.intent.base import host_lists
from tests.analysis.adopt.scramble import configs_of, without_unsaid
from tests.retarget import retargeted


@pytest.mark.parametrize(
    "description", ["to {device} {port}", "{device}:{port}", "link/{device}_{port} 400G", "-> {device}"]
)
def test_links_from_descriptions_of_others(description: str) -> None:
    configs = configs_of(retargeted("h100-rlb", "junos"))
    others = {
        name: replace(
            config,
            interfaces=tuple(
                replace(
                    one,
                    link="",
                    peer="",
                    peer_port="",
                    description=description.format(device=one.peer, port=one.peer_port),
                )
                if one.kind == "fabric"
                else one
                for one in config.interfaces
            ),
        )
        for name, config in configs.items()
    }
    found = wiring(others, {})
    assert len(found.links) == 16 * 4
    assert found.far()[End("stripe1-leaf1", "et-0/0/0:0")] == End("spine1", "et-0/0/0:0")


def test_links_from_lldp_and_from_addresses() -> None:
    configs = configs_of(retargeted("evpn-server-isolation", "junos"))
    silent = {
        name: replace(
            config,
            interfaces=tuple(
                replace(one, link="", peer="", peer_port="", description="") if one.kind == "fabric" else one
                for one in config.interfaces
            ),
        )
        for name, config in configs.items()
    }
    assert len(wiring(silent, {}).links) == 4 * 4 * 4
    without = {
        name: replace(config, interfaces=tuple(replace(one, addresses=()) for one in config.interfaces))
        for name, config in silent.items()
    }
    assert wiring(without, {}).links == ()
    heard = {
        name: {one.name: (one.peer, one.peer_port) for one in config.interfaces} for name, config in configs.items()
    }
    assert len(wiring(without, heard).links) == 4 * 4 * 4


def _cuts(form: str) -> list[NumberedPrefix]:
    return [
        NumberedPrefix((0, stripe, 0, rail, 1), Prefix(form.format(stripe=stripe, rail=rail, sum=stripe * 10 + rail)))
        for stripe in (1, 2, 3)
        for rail in (1, 2)
    ]


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("10.{stripe}.{rail}.0/24", {"prefix_length": 24, "bits": {"stripe": 2, "rail": 8, "color": 0}}),
        ("10.7.{sum}.0/24", {"server_prefix": "10.7.{stripe*10+rail}.0/24"}),
        ("2001:db8:{stripe}:{rail}::/64", {"prefix_length": 64}),
    ],
)
def test_rules_of_prefixes(form: str, wanted: dict[str, object]) -> None:
    found = rule(_cuts(form), [], routed=False, tenants=False)
    assert found is not None
    assert found.items() >= wanted.items()


def test_prefixes_without_a_rule() -> None:
    cuts = _cuts("10.{stripe}.{rail}.0/24")
    assert (
        rule([*cuts[:-1], replace(cuts[-1], prefix=Prefix("10.99.77.0/24"))], [], routed=False, tenants=False) is None
    )


def test_ports_that_no_range_gives() -> None:
    places = [Place(16 + at // 2, at % 2, 2, 400) for at in range(6)]
    taken = [LinkPort("leaf1", at + 1, 0, one) for at, one in enumerate(places)]
    assert port_range("qfx5240-64od", taken, 1) == ({"first": 16}, [])
    odd = LinkPort("leaf1", 7, 0, Place(40, 0, 2, 400))
    assert port_range("qfx5240-64od", [*taken, odd], 1) == ({"first": 16}, [odd])
    spread = [LinkPort("leaf1", at + 1, 0, Place(at, 0, 2, 400)) for at in range(4)]
    assert port_range("qfx5240-64od", spread, 1) == ({"first": 0, "fill": "spread"}, [])


def test_names_as_host_lists() -> None:
    assert host_lists(["n09", "n10", "n11", "n13", "x", "n14"]) == ["n[09-11]", "n13", "x", "n14"]
    nics = [
        End("a1", "gpu0_eth"),
        End("a1", "gpu1_eth"),
        End("a2", "gpu0_eth"),
        End("a2", "gpu1_eth"),
        End("a3", "eth7"),
    ]
    whole = {"a1": {"gpu0_eth", "gpu1_eth", "gpu2_eth"}, "a2": {"gpu0_eth", "gpu1_eth", "gpu2_eth"}, "a3": {"eth7"}}
    assert members(nics, whole) == ["a[1-2]:gpu[0-1]_eth", "a3"]


def test_a_link_with_addresses_of_its_own() -> None:
    """Addresses that no pool gives are those of the link in the design too."""
    configs = {
        name: without_unsaid(one) for name, one in configs_of(retargeted("evpn-server-isolation", "junos")).items()
    }
    leaf, spine = configs["stripe1-leaf1"], configs["spine1"]
    port = next(one for one in leaf.interfaces if one.peer == "spine1")
    configs["stripe1-leaf1"] = _readdressed(leaf, port.name, "10.9.0.1/30")
    configs["spine1"] = _readdressed(spine, port.peer_port, "10.9.0.2/30")
    found = imported("other", configs)
    cable = next(one for one in found.network.cables if one.a.device == "stripe1-leaf1" and one.a.port == port.name)
    assert (cable.a.address, cable.b.address, cable.prefix_length) == ("10.9.0.1", "10.9.0.2", 30)


def _readdressed(config: object, port: str, address: str):
    from railweave.model.device.model import DeviceConfig

    assert isinstance(config, DeviceConfig)
    ports = tuple(
        replace(one, addresses=(InterfaceAddress(address),)) if one.name == port else one for one in config.interfaces
    )
    return replace(config, interfaces=ports)


def test_a_note_is_said_once() -> None:
    draft = Draft("f", {}, {}, [], [])
    draft.note("one")
    draft.note("one")
    assert len(draft.notes) == 1
