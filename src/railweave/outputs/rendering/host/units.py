"""Services of a server: ``nic-qos.service``, which sets the NICs' QoS, and the service of ``railweave host``, if that creates the tables and rules.

Drivers give an RDMA device their own QoS when they create it: at every boot, and when a driver is reloaded, a card is
plugged in, or firmware has recovered. ``nic-qos.service`` runs at boot and delays jobs until it has finished. After
that, udev starts ``nic-qos@PCI-ADDRESS.service`` for each new device (udev(7), SYSTEMD_WANTS). This service sets the
QoS of that NIC only, so that the traffic of other NICs is not disturbed. During sleep, a device can lose settings
without an event of udev, so ``nic-qos-resume.service`` runs after sleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.nic_qos import vendors_files
from railweave.outputs.rendering.host.shell import comment_head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostConfig, HostNic

QOS_FOLDER = "/usr/local/lib/railweave"
"""The installation folder of ``nic-qos.sh`` and vendors' files."""

PROGRAM = "/usr/local/bin/railweave-host"
"""The installation path of the ``railweave host`` zipapp."""

KERNEL_FILES = "sys-kernel-config.mount sys-kernel-debug.mount"
"""The mounts of configfs and debugfs, which ``nic-qos.sh`` reads and writes."""

SLEEP = "suspend.target hibernate.target hybrid-sleep.target suspend-then-hibernate.target"
"""The systemd targets of sleep states (systemd.special(7))."""

BEFORE_JOBS = "Before=slurmd.service kubelet.service containerd.service docker.service"
"""The systemd setting that orders a unit before all services that may start a job."""


def files(config: HostConfig) -> dict[str, str]:
    """Return the texts of units and udev rules by file name."""
    return {
        "nic-qos.service": _qos(config),
        "nic-qos@.service": _qos_of_nic(config),
        "90-railweave-qos.rules": _qos_rules(config),
        "nic-qos-resume.service": _qos_resume(config),
        "railweave-host.service": _host(config),
    }


def devices(nics: Iterable[HostNic]) -> str:
    """Return the names of the NICs' systemd device units. These units appear when udev has named the interfaces."""
    return " ".join(f"sys-subsystem-net-devices-{_escaped(nic.netdev)}.device" for nic in nics)


def _qos(config: HostConfig) -> str:
    lines = comment_head(
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
        f"Wants={KERNEL_FILES} {named}",
        "# network.target: a change of the MTU sets up a NIC's buffers anew.",
        f"After=network.target systemd-modules-load.service {KERNEL_FILES} {named}",
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


def _qos_of_nic(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/systemd/system/nic-qos@.service",
        "90-railweave-qos.rules has it started for the PCI address of a card whose RDMA device has come: systemctl enables nothing.",
    )
    unit = (
        "[Unit]",
        "Description=QoS of the fabric NIC at %i",
        f"ConditionPathExists={QOS_FOLDER}/nic-qos.sh",
        f"Wants={KERNEL_FILES}",
        f"After=nic-qos.service {KERNEL_FILES}",
        "",
        "[Service]",
        "# No RemainAfterExit: each time the device comes back, the unit has to run again.",
        "Type=oneshot",
        "# Until the interface and the RDMA device have their names.",
        "ExecStartPre=-udevadm settle --timeout=60",
        f"ExecStart={QOS_FOLDER}/nic-qos.sh apply --nic=%i",
    )
    return "\n".join([*lines, *unit]) + "\n"


def _qos_rules(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/udev/rules.d/90-railweave-qos.rules",
        "A NIC has the QoS of its driver again after the driver was loaded, the card was plugged, or firmware has recovered.",
        "$id is the PCI address of the card. A card that is on no fabric is left alone by nic-qos.sh.",
    )
    drivers = "|".join(dict.fromkeys(nic.driver for nic in config.nics))
    rule = (
        f'ACTION=="add|move", SUBSYSTEM=="infiniband", SUBSYSTEMS=="pci", DRIVERS=="{drivers}", '
        'TAG+="systemd", ENV{SYSTEMD_WANTS}+="nic-qos@$id.service"'
    )
    return "\n".join([*lines, rule]) + "\n"


def _qos_resume(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/systemd/system/nic-qos-resume.service",
        "Sleep may take from NICs what nic-qos.sh has set: systemctl enable nic-qos-resume.service",
    )
    unit = (
        "[Unit]",
        "Description=QoS of the fabric NICs after sleep",
        f"ConditionPathExists={QOS_FOLDER}/nic-qos.sh",
        "# These targets are reached when the server is awake again.",
        f"After={SLEEP}",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStart={QOS_FOLDER}/nic-qos.sh",
        "",
        "[Install]",
        f"WantedBy={SLEEP}",
    )
    return "\n".join([*lines, *unit]) + "\n"


def _host(config: HostConfig) -> str:
    lines = comment_head(
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
    r"""Return a name in the form that systemd requires in unit names: a dash becomes ``\x2d`` (systemd-escape(1))."""
    return "".join(c if (c.isascii() and c.isalnum()) or c in ":_." else f"\\x{ord(c):02x}" for c in name)
