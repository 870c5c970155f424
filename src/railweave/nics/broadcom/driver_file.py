"""The file ``bnxt_re.conf``, with the QoS that Broadcom's driver sets on NICs when it is loaded (Thor2 guide, section 2.2.1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig, HostQos

PATH = "/etc/bnxt_re/bnxt_re.conf"

DCB_UTILITY = 4
"""The value of ``UTILITY`` in bnxt_re.conf that makes the driver's script set QoS with ``dcb`` (bnxt_setupcc.sh, option -u)."""


def files(config: HostConfig) -> dict[str, dict[str, str]]:
    """Return the file's settings by its path, or an empty dictionary if the server has no Broadcom NICs."""
    wanted = _by_fabric(config)
    return {PATH: next(iter(wanted.values()))} if wanted else {}


def variables(config: HostConfig, fabric: str) -> list[str]:
    """Return the lines of ``nic-qos.sh`` for a fabric: ``IN_FILE`` tells whether ``bnxt_re.conf`` holds this fabric's settings.

    Returns an empty list if the fabric has no Broadcom NICs.
    """
    wanted = _by_fabric(config)
    if fabric not in wanted:
        return []
    installed = next(iter(wanted.values()))
    same = "yes" if wanted[fabric] == installed else "no"
    return [f"# {PATH.rpartition('/')[2]}, of which a server has one, holds this", f"IN_FILE={same}"]


def _by_fabric(config: HostConfig) -> dict[str, dict[str, str]]:
    """Return the required contents of the file for each fabric, by fabric name.

    A server has only one such file, which holds the contents for the first fabric.
    """
    fabrics = dict.fromkeys(nic.fabric for nic in config.nics if nic.vendor == "Broadcom")
    return {fabric: bnxt_re_conf(config.qos_of(fabric)) for fabric in fabrics}


def bnxt_re_conf(qos: HostQos) -> dict[str, str]:
    """Return the settings that Broadcom's package bnxt_re_conf reads when the driver is loaded.

    ``FC_MODE`` is 1 for PFC, 2 for congestion control, 3 for both (bnxt_setupcc.sh, option -m). Congestion control applies to the
    whole NIC, so it is on if any class is marked. The file has no comments, because it is not known whether the package accepts
    them.
    """
    mode = (1 if qos.lossless else 0) + (2 if qos.slows_down else 0)
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
    return {key: str(value) for key, value in values.items()}
