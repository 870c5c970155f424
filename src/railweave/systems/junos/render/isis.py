"""``protocols isis``: every link between switches, point to point; server ports and the loopback passive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES
from railweave.systems.junos.render.sessions import liveness
from railweave.systems.junos.tree import block, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Isis, IsisPort
    from railweave.systems.junos.tree import Statement

_UNUSED = {"ipv4": "no-ipv4-routing", "ipv6": "no-ipv6-routing"}


def isis(config: DeviceConfig) -> Statement | None:
    """``protocols isis``; None where the device does not run it."""
    found = config.isis
    if found is None:
        return None
    return block(
        "isis",
        [_port(found, port) for port in found.ports],
        [block(("interface", f"{name}.0" if "." not in name else name), leaf("passive")) for name in found.passive],
        block("interface lo0.0", leaf("passive")),
        block("level 1", leaf("disable")),
        block(
            "level 2",
            leaf("wide-metrics-only"),
            *([_key("authentication", found.key)] if found.key else []),
        ),
        [leaf(statement) for family, statement in _UNUSED.items() if family not in found.families],
    )


def _key(what: str, reference: str) -> list[Statement | None]:
    return [leaf(f"{what}-key", f"<{reference}>"), leaf(f"{what}-type", "md5")]


def _port(found: Isis, port: IsisPort) -> Statement | None:
    watched = liveness(found.bfd)
    return block(
        ("interface", f"{port.interface}.0"),
        block("level 1", leaf("disable")),
        block(
            "level 2",
            leaf("metric", port.metric),
            *([_key("hello-authentication", found.key)] if found.key else []),
        ),
        leaf("point-to-point"),
        [block(("family", FAMILIES[family]), watched) for family in found.families] if watched else None,
    )
