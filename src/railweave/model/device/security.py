"""What protects a device: its control plane, its logins, its sessions and server ports."""

from __future__ import annotations

from dataclasses import dataclass

from railweave.model.device.access import Aaa, EdgePorts, Login


@dataclass(frozen=True, slots=True)
class Security:
    """Protection of a device; what each field means is in docs/fabric-file.md (``management.security``)."""

    login: Login | None = None
    aaa: Aaa | None = None
    edge_ports: EdgePorts | None = None
