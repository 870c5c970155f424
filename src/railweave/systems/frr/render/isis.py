"""``router isis``, and what stands under each interface it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.frr.names import BFD_PROFILE
from railweave.systems.frr.render.sessions import profile

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig

AREA = "underlay"
_FAMILIES = {"ipv4": "ip", "ipv6": "ipv6"}


def on_port(config: DeviceConfig, port: str) -> list[str]:
    """The lines of an interface that IS-IS runs on, or whose prefix it tells; none where it does neither."""
    found = config.isis
    if found is None:
        return []
    runs = [f"{_FAMILIES[family]} router isis {AREA}" for family in found.families]
    if port == "lo" or port in found.passive:
        return [*runs, "isis passive"]
    link = next((one for one in found.ports if one.interface == port), None)
    if link is None:
        return []
    key = [f"isis password md5 <{found.key}>"] if found.key else []
    watched = ["isis bfd", f"isis bfd profile {BFD_PROFILE}"] if found.bfd else []
    return [
        *runs,
        "isis circuit-type level-2-only",
        "isis network point-to-point",
        f"isis metric {link.metric}",
        *key,
        *watched,
    ]


def router_isis(config: DeviceConfig) -> list[Section]:
    """``bfd`` and ``router isis``."""
    found = config.isis
    if found is None:
        return []
    watched = profile(BFD_PROFILE, found.bfd)
    return [
        *([section("bfd", watched)] if watched else []),
        section(
            f"router isis {AREA}",
            f"net {found.net}",
            "is-type level-2-only",
            "metric-style wide",
            "log-adjacency-changes",
            f"domain-password md5 <{found.key}>" if found.key else None,
        ),
    ]
