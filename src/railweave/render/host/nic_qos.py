"""``nic-qos.sh`` and ``bnxt_re.conf``: what NICs must agree on with the switches of their fabric.

Broadcom: Thor2 guide, sections 2.2.1.3 (file and check) and 2.5 (meaning). NVIDIA: mlnx_qos, or dcb(8) of iproute2; sysfs
``ecn`` of the vendor's driver (NVIDIA DOCA documentation, "Explicit Congestion Notification"), debugfs ``cc_params`` of the
kernel's (drivers/infiniband/hw/mlx5/cong.c); adaptive routing as the long-haul article sets it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.render.host.shell import BY_NAME, array, body, head

if TYPE_CHECKING:
    from railweave.device.host_model import HostConfig, HostQos

VENDORS = ("NVIDIA", "Broadcom")
"""Vendors whose NICs the scripts know."""

DCB_UTILITY = 4
"""``UTILITY`` of bnxt_re.conf: the driver's script sets QoS by ``dcb`` (bnxt_setupcc.sh, option -u)."""


def files(config: HostConfig) -> dict[str, str]:
    """Text by file name."""
    found = {"nic-qos.sh": nic_qos(config)}
    broadcom = _broadcom_files(config)
    if broadcom:
        found["bnxt_re.conf"] = next(iter(broadcom.values()))
    return found


def _broadcom_files(config: HostConfig) -> dict[str, str]:
    """What ``bnxt_re.conf`` would have to be, by fabric. The package takes one for the whole server: the first's."""
    fabrics = dict.fromkeys(nic.fabric for nic in config.nics if nic.vendor == "Broadcom")
    return {fabric: bnxt_re_conf(config.qos_of(fabric)) for fabric in fabrics}


def nic_qos(config: HostConfig) -> str:
    """The script that sets the QoS of every NIC."""
    lines = head(
        "QoS of the NICs: DSCP, priorities, PFC, ETS, congestion control.",
        network=config.network,
        server=config.name,
        lint=BY_NAME,
    )
    lines += ["# interface, RDMA device, its port, vendor, fabric"]
    known = [nic for nic in config.nics if nic.vendor in VENDORS]
    lines += array("NICS", [f"{n.netdev} {n.rdma} {n.rdma_port} {n.vendor} {n.fabric}" for n in known])
    lines += ["", "# The design of a fabric, as the variables that follow.", "design() {", "    case $1 in"]
    broadcom = _broadcom_files(config)
    installed = next(iter(broadcom.values()), None)
    for qos in config.qos:
        design = _design(qos)
        if qos.fabric in broadcom:
            design += [
                "# bnxt_re.conf, of which a server has one, holds this",
                f"IN_FILE={_yes(broadcom[qos.fabric] == installed)}",
            ]
        lines += [f"    {shlex.quote(qos.fabric)})", *(f"        {line}" for line in design), "        ;;"]
    lines += ["    esac", "}", "", ""]
    vendors = [vendor for vendor in VENDORS if any(nic.vendor == vendor for nic in known)]
    parts = ["nic_common.sh", "nic_qos.sh", *(f"nic_qos_{vendor.lower()}.sh" for vendor in vendors), "nic_qos_main.sh"]
    return "\n".join(lines) + "".join(body(part) for part in parts)


def _design(qos: HostQos) -> list[str]:
    own = {qos.cnp_priority, qos.priority} if qos.lossless else {qos.cnp_priority}
    designed = " ".join(f"{dscp}:{priority}" for dscp, priority in enumerate(qos.priorities) if priority in own)
    if qos.lossless:
        line = f"# RDMA data: DSCP {qos.dscp}, priority {qos.priority}, never dropped (PFC)"
    else:
        line = "# RDMA data has no class of its own: no PFC"
    return [
        line,
        f"PRIORITY={qos.priority} LOSSLESS={_yes(qos.lossless)} ECN={_yes(qos.ecn)}",
        f"# share of the link in percent, where other traffic wants it too; class byte: DSCP {qos.dscp} x 4 + ECT(0)",
        f"SHARE={qos.bandwidth_percent} CLASS={qos.traffic_class}",
        "# congestion notification packets",
        f"CNP_DSCP={qos.cnp_dscp} CNP_PRIORITY={qos.cnp_priority}",
        f"# the fabric {'sprays packets' if qos.adaptive_routing else 'keeps the packets of a flow in order'}",
        f"ADAPTIVE={_yes(qos.adaptive_routing)}",
        "# priority of every DSCP, and those that are designed",
        f"MAP=({' '.join(str(priority) for priority in qos.priorities)})",
        f"DESIGNED={shlex.quote(designed)}",
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def bnxt_re_conf(qos: HostQos) -> str:
    """``/etc/bnxt_re/bnxt_re.conf``, which Broadcom's package bnxt_re_conf reads when the driver is loaded.

    ``FC_MODE`` is 1 for PFC, 2 for congestion control, 3 for both (bnxt_setupcc.sh, option -m). No comments: nothing is
    known of how the package would take them.
    """
    mode = (1 if qos.lossless else 0) + (2 if qos.ecn else 0)
    values = {
        "ENABLE_FC": 1 if mode else 0,
        "FC_MODE": mode or 3,
        "ROCE_PRI": qos.priority,
        "ROCE_DSCP": qos.dscp,
        "CNP_PRI": qos.cnp_priority,
        "CNP_DSCP": qos.cnp_dscp,
        "ROCE_BW": qos.bandwidth_percent,
        "UTILITY": DCB_UTILITY,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())
