"""The least of a configuration that lets ``deploy apply`` reach a switch: its name, its management address, logins, and what it is told by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.management import Management

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


def minimal(config: DeviceConfig) -> DeviceConfig:
    """A configuration without ports, routing, queues, tenants and all else that carries traffic; the rest comes with ``deploy apply``."""
    old = config.management
    management = Management(
        domain=old.domain,
        time_zone=old.time_zone,
        root_password=old.root_password,
        users=old.users,
        services=old.services,
        lldp=False,
    )
    return replace(
        config,
        management=management,
        splits=(),
        interfaces=(),
        gateways=(),
        bgp=None,
        qos=None,
        balancing=BalancingConfig("ecmp", (), fast_reroute=False),
        extra="",
        overlay=None,
        vrfs=(),
        mac_vrf=None,
        left_out=(),
        isis=None,
        protection=None,
        ospf=None,
    )
