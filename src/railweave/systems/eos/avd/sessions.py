"""AVD: what BGP sessions of the underlay and of the overlay have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.names import KEY_PROFILE, secret

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, DeviceConfig, Session
    from railweave.model.device.timers import Bfd


def bfd(found: Bfd | None) -> dict[str, Any]:
    """BFD of a peer group; empty where there is none."""
    if found is None:
        return {}
    every = found.minimum_interval
    return {"bfd": True, "bfd_timers": {"interval": every, "min_rx": every, "multiplier": found.multiplier}}


AO_ALGORITHMS = {"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha1-96"}


def key_of(bgp: Bgp) -> dict[str, Any]:
    """The profile of a peer group's keys, for TCP-AO; empty where there is none."""
    wanted = bgp.authentication
    if wanted is None or wanted.algorithm not in AO_ALGORITHMS:
        return {}
    return {"shared_secret": {"profile": KEY_PROFILE, "hash_algorithm": AO_ALGORITHMS[wanted.algorithm]}}


def clear_keys(bgp: Bgp, groups: list[str]) -> dict[str, Any]:
    """Keys of TCP MD5 as text: the schema knows those alone that EOS has encrypted."""
    wanted = bgp.authentication
    if wanted is None or wanted.algorithm in AO_ALGORITHMS:
        return {}
    return {"eos_cli": "\n".join(f"neighbor {one} password 0 {secret(wanted.key)}" for one in groups)}


def key_profiles(config: DeviceConfig) -> list[dict[str, Any]]:
    """Profiles of shared secrets, for TCP-AO."""
    wanted = config.bgp.authentication if config.bgp else None
    if wanted is None or wanted.algorithm not in AO_ALGORITHMS:
        return []
    for_ever = {"infinite": True}
    one = {
        "name": str(wanted.key_id),
        "secret": secret(wanted.key),
        "secret_type": "0",
        "receive_lifetime": for_ever,
        "transmit_lifetime": for_ever,
    }
    return [{"profile": KEY_PROFILE, "secrets": [one]}]


def neighbor(session: Session, group: str) -> dict[str, Any]:
    """A neighbor that is known by its address."""
    own = {"route_map_in": session.import_policy, "route_map_out": session.export_policy}
    return {
        "ip_address": session.peer_address,
        "peer_group": group,
        "remote_as": str(session.peer_as),
        "description": session.peer,
        **{name: policy for name, policy in own.items() if policy},
    }
