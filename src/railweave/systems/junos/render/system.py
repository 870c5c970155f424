"""The chassis, keys of sessions, and MACsec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.render.overlay import key_chain
from railweave.systems.junos.tree import Statement, block, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


ASSOCIATION = "interconnect"


def macsec(config: DeviceConfig) -> Statement | None:
    """``macsec``: one association with the pre-shared key, bound to every link between sites; None without."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return None
    return block(
        "macsec",
        block(
            ("connectivity-association", ASSOCIATION),
            leaf("cipher-suite", wanted.cipher_suite),
            leaf("security-mode", "static-cak"),
            block("pre-shared-key", leaf("ckn", wanted.key_name), leaf("cak", f"<{wanted.key}>")),
        ),
        block("interfaces", [block((one.name,), leaf("connectivity-association", ASSOCIATION)) for one in ports]),
    )


def security(config: DeviceConfig) -> Statement | None:
    """``security``: keys of BGP sessions, and MACsec."""
    return block("security", key_chain(config), macsec(config))


def chassis(config: DeviceConfig) -> Statement | None:
    """``chassis``: width of next-hop groups, buffer monitoring."""
    monitor = config.qos is not None and config.qos.buffer_monitor
    return block(
        "chassis",
        leaf("maximum-ecmp", config.maximum_ecmp()) if config.bgp or config.isis else None,
        block("fpc 0", block("traffic-manager", leaf("buffer-monitor-enable") if monitor else None)),
    )
