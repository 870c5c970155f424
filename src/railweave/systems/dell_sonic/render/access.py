"""Who logs in and how: limits, servers that know logins; what server ports may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import line
from railweave.systems.sonic.render.access import STORMS, kbps
from railweave.systems.sonic.render.system import secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.model.device.management import Management
    from railweave.model.device.model import DeviceConfig, Interface


def logins(wanted: Management) -> Iterator[Section]:
    """Servers in the management VRF, the order of methods, limits."""
    servers, limits = wanted.aaa(), wanted.login()
    if servers:
        for one in servers.tacacs:
            port = f" port {one.port}" if one.port else ""
            yield line(f"tacacs-server host {one.host} timeout {one.timeout} key {secret(one.key)}{port} vrf mgmt")
        for one in servers.radius:
            port = f" auth-port {one.port}" if one.port else ""
            yield line(f"radius-server host {one.host}{port} timeout {one.timeout} key {secret(one.key)} vrf mgmt")
        yield line(f"aaa authentication login default group {servers.groups()[0]} local")
    if limits:
        yield line(f"login lockout period {limits.lockout}")
        yield line(f"login lockout max-retries {limits.attempts}")
        yield line(f"login exec-timeout {60 * limits.idle}")


def spanning_tree(config: DeviceConfig) -> Iterator[Section]:
    """Without a spanning tree nobody listens for bridges. One instance serves every VLAN; fabric ports are routed."""
    if config.bpdu_guard():
        yield line("spanning-tree mode mst")


def edge_port(config: DeviceConfig, port: Interface) -> list[str]:
    """Limits of floods on a layer-2 server port, in kb/s; shut where a bridge is heard, and forwarding at once."""
    limit = kbps(config, port)
    floods = [f"storm-control {kind} {limit}" for kind in STORMS] if limit else []
    guarded = config.bpdu_guard() and port in config.edge_ports()
    guard = ["spanning-tree port type edge", "spanning-tree bpduguard port-shutdown"] if guarded else []
    return [*floods, *guard]
