"""Security intent: what may reach a switch itself, who may log in, and what protects its sessions and server ports."""

from __future__ import annotations

from railweave.intent.base import Model


class Security(Model):
    """Protection of every switch of the file."""
