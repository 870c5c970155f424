"""Security intent: what may reach a switch itself, who may log in, and what protects its sessions and server ports."""

from __future__ import annotations

from pydantic import Field

from railweave.model.intent.access import Aaa, EdgePorts, Login
from railweave.model.intent.addresses import Prefix
from railweave.model.intent.base import Model


class ControlPlane(Model):
    """What may reach a switch itself: its own sessions and neighbor discovery; the rest is counted and dropped."""

    management_prefixes: tuple[Prefix, ...] = Field(
        default=(),
        description="prefixes that SSH, NETCONF, gNMI and SNMP are reached from, and that replies of NTP, DNS, TACACS+ and "
        "RADIUS servers come from; empty: `management.pool`",
    )


class Security(Model):
    """Protection of every switch of the file."""

    control_plane: ControlPlane | None = Field(
        default=ControlPlane(),
        description="filter what may reach a switch itself (docs/switch-security.md); empty: no filter",
    )
    login: Login | None = Field(default=Login(), description="limits of logins; empty: those of the system")
    aaa: Aaa | None = Field(default=None, description="servers that know logins; empty: `users` alone")
    edge_ports: EdgePorts | None = Field(default=EdgePorts(), description="layer-2 server ports; empty: no protection")
