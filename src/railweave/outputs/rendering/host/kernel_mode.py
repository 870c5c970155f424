"""What a server needs where the kernel, not systemd-networkd, forms addresses from router advertisements.

networkd is kept off these NICs, and the kernel gets from a script at boot what networkd would have set up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.comments import head
from railweave.outputs.rendering.host.units import devices

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig, HostNic

SCRIPT = "/usr/local/sbin/railweave-net-setup"
"""Where ``net-setup.sh`` goes."""


def by_kernel(config: HostConfig) -> list[HostNic]:
    """The NICs whose router advertisements the kernel handles."""
    return [nic for nic in config.nics if nic.slaac] if config.advertisements_by == "kernel" else []


def files(config: HostConfig) -> dict[str, str]:
    """Text by name; empty where networkd handles everything."""
    if not by_kernel(config):
        return {}
    return {
        "05-railweave-unmanaged.network": _unmanaged(config),
        "networkd.conf": _networkd(config),
        "railweave-net.service": _service(config),
    }


def _unmanaged(config: HostConfig) -> str:
    lines = head(
        config,
        "/etc/systemd/network/05-railweave-unmanaged.network",
        "systemd-networkd sets accept_ra to 0 on every interface that any .network file matches, also one that matches all.",
        "The first file that matches counts, so this one sorts before netplan's 10-netplan-*.network.",
    )
    names = " ".join(nic.netdev for nic in by_kernel(config))
    return "\n".join([*lines, "[Match]", f"Name={names}", "", "[Link]", "Unmanaged=yes"]) + "\n"


def _networkd(config: HostConfig) -> str:
    lines = head(
        config,
        "/etc/systemd/networkd.conf.d/railweave.conf",
        "networkd removes rules and routes that it did not make itself whenever it starts (networkd.conf(5)), an update of the",
        "package included. It needs to know nothing of those that railweave-net.service makes.",
    )
    return "\n".join([*lines, "[Network]", "ManageForeignRoutes=no", "ManageForeignRoutingPolicyRules=no"]) + "\n"


def _service(config: HostConfig) -> str:
    lines = head(
        config,
        "/etc/systemd/system/railweave-net.service",
        "For servers whose kernel handles router advertisements: no systemd-networkd sets up the NICs' routes and rules there.",
        f"Install net-setup.sh as {SCRIPT}, then: systemctl enable --now railweave-net.service",
    )
    # Wants, not Requires: a NIC that is gone leaves the others at work, and the unit then fails and says which.
    named = devices(config.nics)
    unit = (
        "[Unit]",
        "Description=railweave: links, routes and rules of the fabric NICs (the kernel handles router advertisements)",
        "ConditionPathExists=" + SCRIPT,
        "Wants=network-pre.target " + named,
        "After=network-pre.target systemd-sysctl.service " + named,
        "Before=network.target network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "ExecStart=" + SCRIPT,
        "ExecStop=" + SCRIPT + " --undo",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return "\n".join([*lines, *unit]) + "\n"
