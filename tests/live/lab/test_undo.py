"""Every kind of line of frr.conf is taken away from FRR itself by what ``deploy`` types for that, and given back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from railweave.model.config.compare import compare
from railweave.model.config.section_tree import SectionTree
from railweave.model.config.tree import Node, Step
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from railweave.operations.deploy.changes import tree
from railweave.systems import system
from tests.analysis.routing.shared_fabric import shared_network
from tests.conftest import designed, example, frr_root
from tests.dual_stack import FABRICS
from tests.live.lab.machine import needs_lab
from tests.live.lab.one_router import Router, router

pytestmark = needs_lab

FILE = "frr.conf"
STAYS = {
    r"frr defaults |hostname |service integrated-vtysh-config$": "every file has it, and FRR has no `no` for it, or prints its own",
    r"router bgp \d+( vrf \S+)?($| / no bgp default ipv4-unicast$)": "what other instances and all neighbors stand on; it goes with them",
    r".* / neighbor \S+ (peer-group$|remote-as |interface remote-as )": "all lines about the neighbor go with it",
    r"interface \S*( vrf \S+)? / ipv6 address .*": "zebra 10.3 ends when the address comes back and its prefix is then no longer told",
    r".* / neighbor spine-color\S+ bfd profile ": "with graceful restart another line keeps BFD on: both go at once, below",
    r".* / advertise-all-vni$": "the reader takes a switch without VNIs for a spine",
    r".* / rd \S+$": "FRR 10.3 does not take the same one again; only the whole instance goes",
    r".* vrf \S+ / address-family l2vpn evpn$": "its rd, likewise",
    r".* / ip router isis \S+$": "all lines about IS-IS go with it",
}
"""Lines that no design is without while others stand, and why they are not tried alone."""

RESTATED = r"(ip|ipv6) forwarding|.* / (ipv6 nd ra-interval|isis metric|metric-style wide|(transmit|receive)-interval|detect-multiplier)"
"""Lines that have a usual value, which the reader or FRR states where none is given."""

EMPTY = r"vrf \S+"
"""A section that stands for its network namespace, whether or not FRR shows it without a line."""


def _colors(folder: Path) -> Network:
    text = dedent(FABRICS["path colors"])
    guarded = 'underlay: {graceful_restart: true, ttl_security: true, authentication: {key: "secret:bgp"}}'
    return designed(folder, text.replace("load_balancing:", f"{guarded}\n    load_balancing:", 1))[0]


def _kind(path: str) -> str:
    """What lines differ by that are of one kind."""
    path = re.sub(
        r"(neighbor|route-map|prefix-list|profile|vrf|interface|community|standard) (?!peer-group|remote-as)\S+",
        r"\1 *",
        path,
    )
    return re.sub(r"[0-9a-f:.]*\d[0-9a-f:./]*", "*", path.partition(" description ")[0])


def _places(
    nodes: Sequence[Node], above: tuple[int, ...] = (), names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[int, ...], str]]:
    for at, one in enumerate(nodes):
        here = (*names, one.values[0])
        yield (*above, at), " / ".join(here)
        yield from _places(one.children or (), (*above, at), here)


def _without(nodes: tuple[Node, ...], gone: set[tuple[int, ...]], above: tuple[int, ...] = ()) -> tuple[Node, ...]:
    kept = [(at, one) for at, one in enumerate(nodes) if (*above, at) not in gone]
    return tuple(
        one if one.children is None else replace(one, children=_without(one.children, gone, (*above, at)))
        for at, one in kept
    )


def _batches(whole: SectionTree) -> list[dict[tuple[int, ...], str]]:
    """One line of every kind, of one neighbor or section at most one at a time: what one takes with it is seen on the others."""
    seen: set[str] = set()
    found: list[dict[tuple[int, ...], str]] = []
    about: dict[str, int] = {}
    for place, path in _places(whole.nodes):
        if _kind(path) in seen or any(re.match(pattern, path) for pattern in STAYS):
            continue
        seen.add(_kind(path))
        *above, line = path.split(" / ")
        key = " / ".join([*above, *line.split()[:2]]) if line.startswith("neighbor ") else " / ".join(above) or "top"
        number = about[key] = about.get(key, -1) + 1
        found += [{}] * (number + 1 - len(found))
        found[number] = {**found[number], place: path}
    return found


def _left(run: Router, name: str, wanted: SectionTree) -> list[str]:
    """What still differs from what is wanted, by the reader that ``drift`` and ``deploy`` use."""

    def meant(step: Step) -> bool:
        restated = step.kind == "remove" and re.match(RESTATED, step.path)
        return not (restated or re.fullmatch(EMPTY, step.path))

    return [
        f"{one.kind} {one.path}" for one in compare(tree("frr", name, FILE, run.running()), wanted).steps if meant(one)
    ]


def _without_bfd(config: DeviceConfig) -> DeviceConfig:
    overlay = config.overlay and replace(config.overlay, bfd=None)
    return replace(config, bgp=config.bgp and replace(config.bgp, bfd=None), overlay=overlay)


@pytest.mark.parametrize(
    ("network", "name"),
    [
        pytest.param(_colors, "stripe1-leaf1", id="colors"),
        pytest.param(lambda _: shared_network(), "stripe1-leaf1", id="tenants"),
        pytest.param(lambda _: example("dci-50km"), "ptx-east", id="isis"),
    ],
)
def test_what_undoes_a_line_leaves_nothing_of_it(network: Callable[[Path], Network], name: str, tmp_path: Path) -> None:
    config = device_config(network(tmp_path), name, "frr")
    root = frr_root()
    assert root is not None
    with router(config, root) as run:
        whole = tree("frr", name, FILE, run.running())
        assert isinstance(whole, SectionTree)
        assert compare(whole, system("frr").trees(config)[FILE]).steps == ()
        for batch in _batches(whole):
            less = replace(whole, nodes=_without(whole.nodes, {*batch}))
            change = compare(whole, less)
            assert run.given(change.commands) == [], batch
            assert _left(run, name, less) == [], batch
            assert run.given(change.inverse.commands) == [], batch
            assert _left(run, name, whole) == [], batch
        plain = system("frr").trees(_without_bfd(config))[FILE]
        assert isinstance(plain, SectionTree)
        off = compare(whole, plain)
        assert run.given(off.commands) == []
        assert _left(run, name, plain) == []
        assert (" bfd" in run.running()) == bool(config.isis)
        assert run.given(off.inverse.commands) == []
        assert _left(run, name, whole) == []
