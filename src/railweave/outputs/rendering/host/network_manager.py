"""``networkmanager.conf``: what NetworkManager, where a server has it, does with the fabric NICs.

NetworkManager deactivates a device without a carrier after a few seconds, and takes its addresses, routes and rules. With
``ignore-carrier`` an active connection stays (NetworkManager.conf(5), sections "device"). Netplan keeps NetworkManager off the
NICs of its files by itself; nothing does where the kernel handles router advertisements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.comments import head
from railweave.outputs.rendering.host.kernel_mode import by_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostConfig, HostNic


def files(config: HostConfig) -> dict[str, str]:
    """Text by name; empty if the server has no NIC."""
    if not config.nics:
        return {}
    kernel = by_kernel(config)
    lines = head(
        config,
        "/etc/NetworkManager/conf.d/railweave.conf",
        "For servers with NetworkManager, which otherwise takes addresses, routes and rules from a NIC whose link is down for more",
        "than a few seconds, and with them the GIDs that queue pairs are bound to.",
    )
    lines += ["[device-railweave]", _match(config.nics), "ignore-carrier=yes"]
    if kernel:
        lines += [
            "",
            "# The kernel handles router advertisements of these NICs: NetworkManager would turn that off.",
            "[device-railweave-unmanaged]",
            _match(kernel),
            "managed=no",
        ]
    return {"networkmanager.conf": "\n".join(lines) + "\n"}


def _match(nics: Iterable[HostNic]) -> str:
    return "match-device=" + ";".join(f"interface-name:={nic.netdev}" for nic in nics)
