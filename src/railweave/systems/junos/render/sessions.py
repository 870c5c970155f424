"""What every group of BGP sessions is made of, of the underlay and of the overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.tree import block, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, DeviceConfig, Session
    from railweave.model.device.timers import Bfd
    from railweave.systems.junos.tree import Statement

KEY_CHAIN = "fabric"
_AO = {"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha-1-96"}


def liveness(bfd: Bfd | None) -> Statement | None:
    """BFD of a group; nothing where there is none."""
    if bfd is None:
        return None
    return block(
        "bfd-liveness-detection", leaf("minimum-interval", bfd.minimum_interval), leaf("multiplier", bfd.multiplier)
    )


def keyed(bgp: Bgp) -> list[Statement | None]:
    """The key of a group's sessions: TCP MD5 by itself, TCP-AO by a chain of keys. Found neighbors take neither."""
    key = bgp.authentication
    if key is None:
        return []
    if key.algorithm == "md5":
        return [leaf("authentication-key", f"<{key.key}>")]
    return [leaf("authentication-algorithm", "ao"), leaf("authentication-key-chain", KEY_CHAIN)]


def key_chain(config: DeviceConfig) -> Statement | None:
    """``security authentication-key-chains``: the key of TCP-AO, under the number that both ends send and expect."""
    key = config.bgp.authentication if config.bgp else None
    if key is None or key.algorithm == "md5" or not _takes_key(config):
        return None
    return block(
        "authentication-key-chains",
        block(
            ("key-chain", KEY_CHAIN),
            block(
                ("key", key.key_id),
                leaf("secret", f"<{key.key}>"),
                leaf("start-time", "2020-1-1.00:00:00 +0000"),
                leaf("algorithm", "ao"),
                block(
                    "ao-attribute",
                    leaf("send-id", key.key_id),
                    leaf("recv-id", key.key_id),
                    leaf("cryptographic-algorithm", _AO[key.algorithm]),
                ),
            ),
        ),
    )


def _takes_key(config: DeviceConfig) -> bool:
    """Whether a group has sessions with a key: those of the overlay, or all on links where none is found."""
    return config.overlay is not None or (config.bgp is not None and not config.bgp.found_neighbors())


def neighbor(session: Session) -> Statement | None:
    """A neighbor that has an address."""
    return block(
        ("neighbor", session.peer_address),
        leaf("description", session.peer),
        leaf("local-address", session.local_address),
        leaf("import", session.import_policy) if session.import_policy else None,
        leaf("export", session.export_policy) if session.export_policy else None,
        leaf("peer-as", session.peer_as),
    )
