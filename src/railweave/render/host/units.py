"""Services of a server: the NICs' QoS at every start, and ``railweave host`` where it makes the tables and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.render.host.comments import head
from railweave.render.host.nic_qos import vendors_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.host_model import HostConfig, HostNic

QOS_FOLDER = "/usr/local/lib/railweave"
"""Where ``nic-qos.sh`` goes, and what vendors have beside it."""

PROGRAM = "/usr/local/bin/railweave-host"
"""Where the zipapp of ``railweave host`` goes."""

BEFORE_JOBS = "Before=slurmd.service kubelet.service containerd.service docker.service"
"""Whatever may start a job comes later."""


def files(config: HostConfig) -> dict[str, str]:
    """Text by file name."""
    return {"nic-qos.service": _qos(config), "railweave-host.service": _host(config)}


def devices(nics: Iterable[HostNic]) -> str:
    """The units by which systemd knows that udev has named the NICs."""
    return " ".join(f"sys-subsystem-net-devices-{_escaped(nic.netdev)}.device" for nic in nics)


def _qos(config: HostConfig) -> str:
    lines = head(
        config,
        "/etc/systemd/system/nic-qos.service",
        "Not all of what nic-qos.sh sets outlasts a restart.",
        f"Install nic-qos.sh (mode 755), and {' or '.join(vendors_files())} where there is one, in {QOS_FOLDER}, then:",
        "systemctl enable --now nic-qos.service",
    )
    named = devices(config.nics)
    unit = (
        "[Unit]",
        "Description=QoS of the fabric NICs: DSCP, PFC, ETS, congestion control",
        f"ConditionPathExists={QOS_FOLDER}/nic-qos.sh",
        "# Wants, not Requires: a NIC that is gone leaves the others with their QoS, and the unit then fails and says which.",
        f"Wants={named}",
        "# network.target: a change of the MTU sets up a NIC's buffers anew.",
        f"After=network.target systemd-modules-load.service {named}",
        BEFORE_JOBS,
        "ConditionVirtualization=!container",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "# The RDMA driver is loaded by udev once the NIC is there; a timeout is for the script to complain of.",
        "ExecStartPre=-udevadm settle --timeout=60",
        f"ExecStart={QOS_FOLDER}/nic-qos.sh",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return "\n".join([*lines, *unit]) + "\n"


def _host(config: HostConfig) -> str:
    lines = head(
        config,
        "/etc/systemd/system/railweave-host.service",
        "For servers on which neither netplan nor railweave-net.service makes the routing tables and rules of the NICs.",
        f"Install railweave-host.pyz as {PROGRAM} (mode 755) and host.json in /etc/railweave, then:",
        "systemctl enable --now railweave-host.service",
    )
    unit = (
        "[Unit]",
        "Description=Routing tables and rules of the fabric NICs",
        f"ConditionPathExists={PROGRAM}",
        "# Whatever gives the NICs their addresses has begun; for the rest --wait waits.",
        "After=network.target systemd-networkd.service",
        "",
        "[Service]",
        "# --partial: a NIC that is gone leaves the others at work. --watch: stays, and repairs.",
        f"ExecStart={PROGRAM} apply --wait 300 --partial --watch",
        "Restart=on-failure",
        "RestartSec=10",
        "# 2 is a host.json that is wrong: trying again does not mend it.",
        "RestartPreventExitStatus=2",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return "\n".join([*lines, *unit]) + "\n"


def _escaped(name: str) -> str:
    r"""A name as part of a unit's name: a dash is ``\x2d`` (systemd-escape(1))."""
    return "".join(c if (c.isascii() and c.isalnum()) or c in ":_." else f"\\x{ord(c):02x}" for c in name)
