"""``security macsec``: connectivity associations of the long links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.tree import block, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.junos.tree import Statement

ASSOCIATION = "interconnect"


def macsec(config: DeviceConfig) -> Statement | None:
    """``macsec``: one association with the pre-shared key, bound to every link between sites; None without."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return None
    return block(
        "macsec",
        block(
            ("connectivity-association", ASSOCIATION),
            leaf("cipher-suite", wanted.cipher_suite),
            leaf("security-mode", "static-cak"),
            block("pre-shared-key", leaf("ckn", wanted.key_name), leaf("cak", f"<{wanted.key}>")),
        ),
        block("interfaces", [block((one.name,), leaf("connectivity-association", ASSOCIATION)) for one in ports]),
    )
