"""Small fabrics that differ in what operators change, each designed with one lock, so that pairs of them are changes."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis import assume
from hypothesis import strategies as st

from railweave.errors import InputError
from railweave.model.config.tree import ConfigTree
from railweave.model.device.build import device_config
from railweave.model.intent.lock import Lock
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.systems import system

TOTAL = 44
"""Fabrics of a system; pairs of them are drawn."""

DEVICES = {
    "junos": "",
    "frr": "",
    "eos": ":eos",
    "sonic": "z9864f-on:sonic",
    "dell_sonic": "z9864f-on:dell_sonic",
}
"""What ``--device`` makes of the file's switches. FRR is what the lab runs in place of Junos."""


@dataclass(frozen=True)
class Variant:
    """What is drawn of one fabric."""

    spines: tuple[str, ...]
    stripes: tuple[str, ...]
    links: int
    mode: str
    path_color: str
    release: str
    emulation: str
    peering: str
    server_link: str
    mtu: int
    classes: str
    tenants: str
    owner: tuple[int, ...]
    """Which tenant each of the first servers belongs to; -1: none."""
    servers: int
    management: str
    sites: bool


_CLASSES = {
    "default": "{}",
    "marked": "{classes: {no-loss: {ecn: {min_fill: 10, max_fill: 70, max_probability: 20}}}}",
    "renamed": "{classes: {no-loss: null, rdma: {queue: 4, dscp: [26, 30], lossless: true, pfc_priority: 3, transmit_percent: 60, ecn: {}}}}",
    "more": "{classes: {storage: {queue: 2, dscp: [18, 20], transmit_percent: 10, ecn: {}}, no-loss: {transmit_percent: 60}}}",
    "thresholds": "{classes: {no-loss: {dynamic_threshold: 8}}, buffers: {lossless: 60, headroom: 20, lossy: 20}}",
    "two": "{classes: {bulk: {queue: 2, dscp: [18], lossless: true, pfc_priority: 4, transmit_percent: 20, ecn: {}}, no-loss: {transmit_percent: 50}}}",
    "plain": "{classes: {no-loss: null}}",
}
_MANAGEMENT = {
    "none": "{}",
    "some": '{root_password: "secret:r", ntp: [172.20.0.3], dns: [172.20.0.2], syslog: [{host: 172.20.0.4}]}',
    "other": '{root_password: "secret:r", users: {ops: {password: "secret:o"}}, ntp: [172.20.0.5, 172.20.0.3], '
    'snmp: {community: "secret:c", location: hall 1}, syslog: [{host: 172.20.0.4, severity: info}], banner: "hands off"}',
}


def _drawn(rng: random.Random) -> Variant:
    tenants = rng.choice(["", "", "vrf", "vrf", "network"])
    servers = rng.choice([1, 2, 2])
    stripes = rng.choice([("s1", "s2"), ("s1", "s2"), ("s1", "s2", "s3"), ("s2", "s3")])
    mode = rng.choice(["rlb", "rlb", "ecmp", "spray", "dlb-flowlet", "dlb-per-packet"])
    mode = "ecmp" if tenants == "network" and mode == "rlb" else mode  # bridged networks have no path colors
    sites = not tenants and rng.random() < 0.15 and stripes == ("s1", "s2")
    return Variant(
        spines=() if sites else rng.choice([("p1", "p2"), ("p1", "p3"), ("p2",), ("p1", "p2", "p3")]),
        stripes=stripes,
        links=rng.choice([1, 1, 2]),
        mode="ecmp" if sites and mode == "rlb" else mode,
        path_color=rng.choice(["auto", "local-preference"]),
        release=rng.choice(["25.4R1", "25.4R1", "23.4X100-D31"]),
        emulation=rng.choice(["local-preference", "aigp"]),
        peering=rng.choice(["auto-discovered", "numbered"]),
        server_link=rng.choice(["access", "access", "routed", "trunk"]),
        mtu=rng.choice([9216, 9216, 9100]),
        classes=rng.choice(list(_CLASSES)),
        tenants=tenants,
        owner=tuple(rng.choice([-1, 0, 1, 2]) for _ in range(6)),
        servers=servers,
        management=rng.choice(list(_MANAGEMENT)),
        sites=sites,
    )


def text(one: Variant) -> str:
    """The fabric file of a variant."""
    groups = [(f"{stripe}-{number}", stripe) for stripe in one.stripes for number in range(1, one.servers + 1)]
    owned = [[name for (name, _), who in zip(groups, one.owner, strict=False) if who == at] for at in range(3)]
    wanted = {f"t{at}": names for at, names in enumerate(owned) if names}
    tenants = ""
    if one.tenants == "vrf":
        tenants = "".join(f"\n      {name}: {{members: {_words(names)}}}" for name, names in wanted.items())
    elif one.tenants == "network":
        tenants = "".join(
            f"\n      {name}: {{networks: {{n{name}: {{members: {_words(names)}, prefix: 10.1{name[1]}.0.0/16}}}}}}"
            for name, names in wanted.items()
        )
    sites = ", interconnect: {sites: {s1: [s1], s2: [s2]}, links: 2}" if one.sites else ""
    static = "server_mode: static, server_pool: 10.0.0.0/10, prefix_length: 24" if one.tenants == "network" else ""
    link = "access" if one.tenants == "network" else one.server_link
    return f"""
name: t
sites: {"{s1: {}, s2: {}}" if one.sites else "{here: {}}"}
fabrics:
  backend:
    topology: {{stripes: {_words(one.stripes)}, leaves_per_stripe: 1, spines: {_words(one.spines) if one.spines else 0}, links_per_spine: {one.links}, oversubscription: 16{sites}}}
    leaf: {{device: qfx5240-64od, release: {one.release}}}
    underlay: {{peering: {one.peering}, path_color: {one.path_color}}}
    load_balancing: {{mode: {one.mode}}}
    addressing: {{server_link: {link}{", " + static if static else ""}}}
    emulation: {{path_color: {one.emulation}}}
    mtu: {{fabric: {one.mtu}}}
    qos: {_CLASSES[one.classes]}
    {"tenants:" + tenants if tenants else ""}
servers:
{"".join(f"  - {{names: {name}, model: h100-8gpu-cx7, stripe: {stripe}}}" + chr(10) for name, stripe in groups)}
management: {_MANAGEMENT[one.management]}
"""


def _words(names: tuple[str, ...] | list[str]) -> str:
    return f"[{', '.join(names)}]"


def _designed(content: str, lock: Lock | None, device: str) -> tuple[Network, Lock]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.yaml"
        file.write_text(content)
        return design_file(file, lock, device=[device] if device else [])


@cache
def networks(nos: str) -> tuple[Network, ...]:
    """The fabrics of a system: those drawn, by a number that is always the same, that can be designed for it."""
    rng = random.Random(19)  # noqa: S311 - no secret
    found: list[Network] = []
    lock: Lock | None = None
    while len(found) < TOTAL:
        drawn = _drawn(rng)
        try:
            network, lock_after = _designed(text(drawn), lock.copy() if lock else None, DEVICES[nos])
        except InputError:
            continue
        found.append(network)
        lock = lock_after
    return tuple(found)


@cache
def trees(nos: str, number: int) -> dict[str, dict[str, ConfigTree]]:
    """The files of every switch of a fabric as trees: by switch, by file."""
    network = networks(nos)[number]
    return {switch.name: system(nos).trees(device_config(network, switch.name, nos)) for switch in network.switches}


@st.composite
def changes(draw: st.DrawFn, nos: str) -> tuple[int, int, str]:
    """Two fabrics of a system, by number, and a switch that both have."""
    old = draw(st.integers(0, TOTAL - 1))
    new = draw(st.integers(0, TOTAL - 1).filter(lambda number: number != old))
    both = trees(nos, old).keys() & trees(nos, new).keys()
    assume(both)
    return old, new, draw(st.sampled_from(sorted(both)))
