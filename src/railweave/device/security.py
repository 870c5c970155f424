"""What protects a device: its control plane, its logins, its sessions and server ports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Security:
    """Protection of a device; what each field means is in docs/fabric-file.md (``management.security``)."""
