"""Adding or removing anything, from the middle too, changes no other allocation."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.network.model import Network
from tests.conftest import SMALL, designed, example

BASE = """
name: t
fabrics:
  backend:
    topology: {stripes: [s1, s2, s3], spines: [p1, p2, p3, p4], leaves_per_stripe: 2, link_speed: 400G, oversubscription: 8}
    leaf: {device: qfx5240-64od}
servers:
  - {names: [a1, a2, a3], model: h100-8gpu-cx7, stripe: s1}
  - {names: [b1, b2, b3], model: h100-8gpu-cx7, stripe: s2}
  - {names: [c1, c2, c3], model: h100-8gpu-cx7, stripe: s3}
"""

CHANGES = {
    "server removed from the middle": ("[b1, b2, b3]", "[b1, b3]"),
    "server added": ("[b1, b2, b3]", "[b1, b2, b3, b4]"),
    "server added in the middle": ("[b1, b2, b3]", "[b1, x, b2, b3]"),
    "stripe removed from the middle": ("[s1, s2, s3]", "[s1, s3]"),
    "stripe added": ("[s1, s2, s3]", "[s1, s2, s3, s4]"),
    "stripe added first": ("[s1, s2, s3]", "[s0, s1, s2, s3]"),
    "spine removed from the middle": ("[p1, p2, p3, p4]", "[p1, p3, p4]"),
    "spine added": ("[p1, p2, p3, p4]", "[p1, p2, p3, p4, p5]"),
    "spine added in the middle": ("[p1, p2, p3, p4]", "[p1, q, p2, p3, p4]"),
    "servers in another order": ("[a1, a2, a3]", "[a3, a1, a2]"),
}


def _allocations(network: Network) -> dict[str, object]:
    """Every number that was handed out, by what it was handed to."""
    found: dict[str, object] = {}
    for switch in network.switches:
        found[switch.name] = (switch.asn, switch.router_id, switch.management_address, switch.number)
    for segment in network.segments:
        found[f"{segment.stripe} rail {segment.rail} vlan"] = segment.vlan
        for subnet in segment.subnets:
            found[f"{segment.stripe} rail {segment.rail} color {subnet.color}"] = (subnet.prefix, subnet.gateway)
    for cable in network.cables:
        key = f"{cable.a.device}:{cable.a.port}" if cable.kind == "server" else f"{cable.a.device} to {cable.b.device}"
        found[key] = (cable.a.port, cable.b.device, cable.b.port, cable.color)
    for server in network.servers:
        for nic in server.nics:
            found[f"{server.name}:{nic.name} mac"] = nic.mac
            for one in nic.addresses:
                found[f"{server.name}:{nic.name} color {one.color}"] = one.address
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_else_moves(tmp_path: Path, change: str) -> None:
    old, new = CHANGES[change]
    network, lock = designed(tmp_path, BASE)
    text = BASE.replace(old, new)
    if "s2" not in text.split("servers:")[0]:
        text = "\n".join(line for line in text.splitlines() if "stripe: s2" not in line)
    after, _ = designed(tmp_path, text, lock.copy())
    was, now = _allocations(network), _allocations(after)
    shared = was.keys() & now.keys()
    assert len(shared) > len(was) / 2
    assert {key: was[key] for key in shared} == {key: now[key] for key in shared}


FULL = """
name: t
fabrics:
  backend:
    topology: {stripes: 2, spines: 2, leaves_per_stripe: 2, oversubscription: 4}
    leaf: {device: qfx5240-64od}
servers: [{names: "n[1-4]", model: h100-8gpu-cx7}]
"""
"""Stripes whose leaves take no more servers at their oversubscription."""

MORE = FULL.replace("n[1-4]", "n[1-8]").replace("stripes: 2", "stripes: 2, servers_per_stripe: 4")


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        (FULL.replace("stripes: 2", "stripes: 2, servers_per_stripe: 4"), False),
        (MORE.replace("oversubscription: 4", "oversubscription: 8"), True),
        (
            MORE.replace("oversubscription: 4", "oversubscription: 8").replace(
                "64od}", "64od, server_ports: {first: 13}}"
            ),
            False,
        ),
    ],
)
def test_server_ports_move_with_the_oversubscription_alone(tmp_path: Path, text: str, moves: bool) -> None:
    """As docs/day-two.md#change-the-design-diff-lock-status says: a higher `servers_per_stripe` moves nothing, and `server_ports:` holds them."""
    network, lock = designed(tmp_path, FULL)
    was, now = _allocations(network), _allocations(designed(tmp_path, text, lock.copy())[0])
    assert any(was[key] != now[key] for key in was) is moves


@pytest.mark.parametrize("change", [name for name in CHANGES if "removed" in name])
def test_what_comes_back_gets_its_old_place(tmp_path: Path, change: str) -> None:
    old, new = CHANGES[change]
    network, lock = designed(tmp_path, BASE)
    text = BASE.replace(old, new)
    if "s2" not in text.split("servers:")[0]:
        text = "\n".join(line for line in text.splitlines() if "stripe: s2" not in line)
    _, without = designed(tmp_path, text, lock.copy())
    again, _ = designed(tmp_path, BASE, without)
    assert _allocations(again) == _allocations(network)


def test_a_freed_slot_is_reused_only_after_compacting(tmp_path: Path) -> None:
    _, lock = designed(tmp_path, BASE)
    _, lock = designed(tmp_path, BASE.replace("[b1, b2, b3]", "[b1, b3]"), lock)
    kept, _ = designed(tmp_path, BASE.replace("[b1, b2, b3]", "[b1, b3, new]"), lock.copy())
    lock.compacting = True
    compact, kept_lock = designed(tmp_path, BASE.replace("[b1, b2, b3]", "[b1, b3, new]"), lock)
    place = {name: network.server("new").nics[0].leaf_port for name, network in (("kept", kept), ("compact", compact))}
    assert place["kept"] != place["compact"]
    assert compact.server("b3").nics == kept.server("b3").nics
    assert set(kept_lock.pools["backend/servers/s2"]) == {"b1", "b3", "new"}


def test_a_moved_server_stays_where_it_was_moved_to(tmp_path: Path) -> None:
    def text(servers: str) -> str:
        return (
            BASE.split("servers:", maxsplit=1)[0]
            + f"servers:\n  - {{names: [a1, a2], model: h100-8gpu-cx7, stripe: s1}}\n  - {servers}\n"
        )

    first, lock = designed(tmp_path, text("{names: [m], model: h100-8gpu-cx7, stripe: s2}"))
    _, lock = designed(tmp_path, text("{names: [m], model: h100-8gpu-cx7, stripe: s1}"), lock)
    free, lock = designed(tmp_path, text("{names: [m], model: h100-8gpu-cx7}"), lock)
    assert {nic.stripe for nic in free.server("m").nics} == {"s1"}
    other, lock = designed(tmp_path, text("{names: [m, n], model: h100-8gpu-cx7, stripe: s2}"), lock)
    assert other.server("m").nics == first.server("m").nics, "back where it was, on the ports it had"
    assert other.server("n").nics[0].leaf_port != other.server("m").nics[0].leaf_port


def test_a_color_goes_with_its_name(tmp_path: Path) -> None:
    names = "    colors: [{name: green}, {name: blue}, {name: red}, {name: orange}]\n"
    text = BASE.replace("servers:", names + "servers:", 1)
    before, lock = designed(tmp_path, text)
    after, _ = designed(
        tmp_path, text.replace("[p1, p2, p3, p4]", "[p1, p3, p4]").replace("{name: blue}, ", ""), lock.copy()
    )
    was = {color.name: color for color in before.fabrics[0].colors}
    assert list(was) == ["green", "blue", "red", "orange"]
    assert {color.name: color for color in after.fabrics[0].colors} == {n: c for n, c in was.items() if n != "blue"}
    renamed, _ = designed(tmp_path, text.replace("{name: blue}", "{name: azure}"), lock.copy())
    assert [(color.index, color.name) for color in renamed.fabrics[0].colors] == [
        (1, "green"),
        (2, "azure"),
        (3, "red"),
        (4, "orange"),
    ]


def test_a_new_mac_changes_only_that_nic(tmp_path: Path) -> None:
    header = "device,interface,mac\n"
    before, lock = designed(tmp_path, BASE, inventory=f"{header}b2,gpu3_eth,58:a2:e1:46:c6:ca\n")
    after, _ = designed(tmp_path, BASE, lock.copy(), inventory=f"{header}b2,gpu3_eth,58:a2:e1:46:c6:cb\n")
    assert before.switches == after.switches
    assert before.cables == after.cables
    assert before.segments == after.segments
    different = [
        (a.name, x.name)
        for a, b in zip(before.servers, after.servers, strict=True)
        for x, y in zip(a.nics, b.nics, strict=True)
        if x != y
    ]
    assert different == [("b2", "gpu3_eth")]


def test_same_input_same_bytes(tmp_path: Path) -> None:
    first, lock = designed(tmp_path, BASE)
    second, again = designed(tmp_path, BASE)
    assert first.to_json() == second.to_json()
    assert lock.to_text() == again.to_text()


def test_design_json_reads_back_equal(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, BASE)
    assert Network.from_json(network.to_json()) == network


@pytest.mark.parametrize("name", SMALL)
def test_the_design_of_an_example_reads_back_equal(name: str) -> None:
    assert Network.from_json(example(name).to_json()) == example(name)
