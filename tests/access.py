"""A device with everything that protects its logins, sessions and server ports."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from railweave.model.config.addresses import Prefix
from railweave.model.device.management import (
    Aaa,
    Authentication,
    EdgePorts,
    Login,
    LoginServer,
    Security,
    Snmp,
    SnmpUser,
)
from railweave.model.device.model import DeviceConfig

TACACS = LoginServer("172.20.0.5", "secret:tacacs", timeout=3)
RADIUS = LoginServer("172.20.0.6", "secret:radius", timeout=3)


def protected(
    config: DeviceConfig, algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"] = "md5"
) -> DeviceConfig:
    """The same device with all of it switched on."""
    security = Security(Login(), Aaa((TACACS,), (RADIUS,)), EdgePorts())
    snmp = Snmp(
        community="secret:community",
        users={"watcher": SnmpUser("secret:auth", "secret:privacy")},
        clients=(Prefix("172.20.0.0/24"),),
    )
    bgp = config.bgp and replace(
        config.bgp,
        graceful_restart=True,
        ttl_security=True,
        authentication=Authentication("secret:bgp", algorithm, 7),
    )
    return replace(config, bgp=bgp, management=replace(config.management, security=security, snmp=snmp))
