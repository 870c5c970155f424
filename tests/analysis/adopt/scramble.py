"""Networks as they are read: without what no text says, and with other names and numbers than our own designs have."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.config_file import from_document, to_document
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

_WORDS = ("kestrel", "osprey", "heron", "plover", "dunlin", "siskin", "linnet", "wagtail")
_POOLS = {
    "10.255.": "10.99.",
    "10.254.": "10.98.",
    "172.20.": "192.168.",
    "10.200.": "100.64.",
    "10.252.": "10.32.",
    "fc00:": "fd77:",
    "fd00:fff": "fd55:fff",
    "fd01:": "fd78:",
}
_ASN_FIELDS = {"asn", "peer_as", "local_as"}
_OTHER_AS = 1_000
_SAY_THEIR_MODEL = {"sonic"}
"""Systems whose configuration names the hardware that it is for."""

_NAME_VLANS = {"junos", "eos"}
"""Systems whose VLANs have names beside their numbers."""


def read_back(config: DeviceConfig) -> DeviceConfig:
    """A configuration as its own text says it; where nothing reads its system, without what no text says."""
    reader = system(config.nos).reader
    if reader is None:
        return without_unsaid(config)
    files, trees = system(config.nos).files(config), system(config.nos).trees(config)
    return replace(reader.read({name: files[name] for name in trees}).config, nos=config.nos, name=config.name)


def without_unsaid(config: DeviceConfig) -> DeviceConfig:
    """A configuration without what no text of any system says."""
    bgp = config.bgp and replace(
        config.bgp,
        groups=tuple(
            replace(group, sessions=tuple(replace(one, link="") for one in group.sessions))
            for group in config.bgp.groups
        ),
    )
    ports = tuple(replace(one, link="", lanes=0, length_m=0, between_sites=False) for one in config.interfaces)
    model = config.model if config.nos in _SAY_THEIR_MODEL else ""
    return replace(config, role="leaf", model=model, extra="", left_out=(), interfaces=ports, bgp=bgp)


def configs_of(network: Network) -> dict[str, DeviceConfig]:
    """The configuration of every switch of a network, as designed."""
    return {one.name: device_config(network, one.name) for one in network.switches}


def scrambled(network: Network, seed: int, *, policies: bool = False) -> dict[str, DeviceConfig]:
    """The configurations with other names of switches, servers and VLANs, other AS numbers and other pools.

    ``policies``: groups, policies, their lists and communities have other names too.
    """
    draw = random.Random(seed)  # noqa: S311 - names, not secrets
    names = [one.name for one in (*network.switches, *network.servers)]
    numbers = draw.sample(range(100, 100 + 10 * len(names)), len(names))
    words = {name: f"{draw.choice(_WORDS)}{number}" for name, number in zip(names, numbers, strict=True)}
    ours = {one.asn for one in network.switches}
    made: dict[str, DeviceConfig] = {}
    for name, config in configs_of(network).items():
        own = dict(words)
        if config.nos in _NAME_VLANS:
            own |= {one.vlan_name: f"lan-{one.vlan}-x" for one in config.gateways if one.vlan_name}
            own |= {one.vlan: f"lan-{one.vlan[2:]}-x" for one in config.interfaces if one.vlan}
        if policies and config.bgp:
            own |= {one.name: f"P{draw.randrange(1000)}-{at}" for at, one in enumerate(config.bgp.policies)}
            own |= {one: f"LIST-{at}" for at, one in enumerate(config.bgp.prefix_lists)}
            own |= {one: f"ASN-{at}" for at, one in enumerate(config.bgp.as_lists)}
        document = _renamed(to_document(config), own, ours, "")
        made[words[name]] = from_document(document)
    return made


def _renamed(value: Any, words: Mapping[str, str], ours: set[int], key: str) -> Any:
    if isinstance(value, dict):
        return {words.get(name, name): _renamed(one, words, ours, name) for name, one in value.items()}
    if isinstance(value, list):
        inside = "as_lists" if key in words or key.endswith("-as") else key
        return [_renamed(one, words, ours, inside) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and (key in _ASN_FIELDS or key == "as_lists"):
        return value + _OTHER_AS * 1000 if value in ours or value > 4_000_000_000 else value
    if isinstance(value, str):
        return _text(value, words, key)
    return value


def _text(value: str, words: Mapping[str, str], key: str) -> str:
    if value in words:
        return words[value]
    if key == "value":  # of a community: its administrator is the first AS number of the spines
        return re.sub(r"^42\d{8}", lambda match: str(int(match[0]) + _OTHER_AS * 1000), value)
    if key == "net":  # the system id of IS-IS is the router id, digit by digit
        area, *digits, selector = value.rsplit(".", 4)
        parts = re.findall("...", "".join(digits))
        address = _text(".".join(str(int(one)) for one in parts), words, "")
        written = "".join(f"{int(one):03d}" for one in address.split("."))
        return ".".join([area, *re.findall("....", written), selector])
    if key == "from_spine":
        return re.sub(r"^42\d{8}", lambda match: str(int(match[0]) + _OTHER_AS * 1000), value)
    for old, new in _POOLS.items():
        if value.startswith(old):
            return new + value[len(old) :]
    if key in {"description", "link", "peer"}:
        return re.sub(r"[A-Za-z0-9_.-]+", lambda match: words.get(match[0], match[0]), value)
    return value


SYSTEMS = [name for name, one in catalog().systems.items() if one.management]
"""Systems whose files configure a whole switch."""
