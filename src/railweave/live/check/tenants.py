"""Checks that the overlay brings every leaf the prefixes of its tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check.living import Deviation, NetworkStates, Part
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Prefix
    from railweave.model.device.expected import Tenant
    from railweave.model.state.device_state import DeviceState

LOST = Rule(
    "tenant-prefix-missing",
    "error",
    "living",
    "The overlay brings a leaf no route to a prefix of its tenant.",
    why="servers of the tenant behind this leaf do not reach those behind the other leaf",
    fix="look at the EVPN sessions of both leaves, then at the route targets of both VRFs: `railweave drift`",
)
_MOST_NAMED = 3
"""The most prefixes or leaves that one finding names."""


def overlay_prefixes(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for the prefixes of each leaf that leaves of the same tenant do not hold.

    The finding is at the leaf whose prefixes are missing if no other leaf holds them, and otherwise at the leaf that lacks them.
    """
    owners = {
        (tenant.vrf, prefix): expected.device
        for expected in living.expected.values()
        for tenant in expected.tenants
        for prefix in tenant.own_prefixes
    }
    vrfs = {
        tenant.route_distinguisher: tenant.vrf
        for expected in living.expected.values()
        for tenant in expected.tenants
        if tenant.route_distinguisher
    }
    missing: dict[tuple[str, str], dict[str, list[Prefix]]] = {}
    receivers: dict[tuple[str, str], set[str]] = {}
    for expected, state in living.pairs():
        for tenant in expected.tenants:
            held = _held(tenant, state, vrfs)
            if held is None:
                continue
            for prefix in tenant.learned:
                key = tenant.vrf, owners.get((tenant.vrf, prefix), "")
                receivers.setdefault(key, set()).add(expected.device)
                if str(prefix) not in held:
                    missing.setdefault(key, {}).setdefault(expected.device, []).append(prefix)
    for (vrf, owner), lacking in missing.items():
        because = next(iter(living.expected[next(iter(lacking))].tenants)).because
        if owner in living.expected and len(lacking) > 1 and lacking.keys() == receivers[vrf, owner]:
            prefixes = list(dict.fromkeys(prefix for each in lacking.values() for prefix in each))
            description = (
                f"VRF {vrf}: no other leaf holds {_some(prefixes)}; servers behind {owner} are cut off from "
                f"those behind {_some(list(lacking))}"
            )
            yield Deviation(LOST, owner, description, because, objects=len(prefixes))
            continue
        for device, prefixes in lacking.items():
            of = f" of {owner}" if owner else ""
            description = f"VRF {vrf} does not hold {_some(prefixes)}{of}; servers behind {device} do not reach those"
            needs: frozenset[Part] = frozenset([("device", owner), ("gateways", owner)])
            yield Deviation(LOST, device, description, because, needs=needs, objects=len(prefixes))


def _held(tenant: Tenant, state: DeviceState, vrfs: Mapping[str, str]) -> set[str] | None:
    """Return the prefixes that a device's overlay table holds for a tenant, or None if the table was not read.

    The table is by VRF or by route distinguisher. An unknown route distinguisher may be of any VRF.
    """
    tables = state.evpn.type5_prefixes if state.evpn is not None else None
    if tables is None:
        return None
    return {
        prefix
        for key, prefixes in tables.items()
        if key == tenant.vrf or vrfs.get(key, tenant.vrf if ":" in key else "") == tenant.vrf
        for prefix in prefixes
    }


def _some(names: Sequence[object]) -> str:
    """Return the first names of a list as text, with the number of those left out."""
    more = [counted(len(names) - _MOST_NAMED, "more", "more")] if len(names) > _MOST_NAMED else []
    return ", ".join([*map(str, names[:_MOST_NAMED]), *more])
