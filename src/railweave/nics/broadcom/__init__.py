"""The vendor Broadcom (BCM576xx, Thor2). ``Vendor`` explains the methods.

The sources are the Thor2 guide, sections 2.2.1.3 (file and check) and 2.5 (meaning) for QoS, and section 2.2.4 for niccli,
which sets the flash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.nics import script
from railweave.nics.protocol import NicTransport, Vendor

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig, HostQos


PATH = "/etc/bnxt_re/bnxt_re.conf"

DCB_UTILITY = 4
"""The value of ``UTILITY`` in bnxt_re.conf that makes the driver's script set QoS with ``dcb`` (bnxt_setupcc.sh, option -u)."""


def files(config: HostConfig) -> dict[str, dict[str, str]]:
    """Return the settings of ``bnxt_re.conf`` by the file's path, or an empty dictionary if the server has no Broadcom NICs."""
    wanted = _by_fabric(config)
    return {PATH: next(iter(wanted.values()))} if wanted else {}


def variables(config: HostConfig, fabric: str) -> list[str]:
    """Return the lines of ``nic-qos.sh`` that set ``IN_FILE`` for a fabric.

    ``IN_FILE`` is ``yes`` if ``bnxt_re.conf`` holds this fabric's settings, else ``no``. Return an empty list if the fabric
    has no Broadcom NICs.
    """
    wanted = _by_fabric(config)
    if fabric not in wanted:
        return []
    installed = next(iter(wanted.values()))
    same = "yes" if wanted[fabric] == installed else "no"
    return [f"# {PATH.rpartition('/')[2]}, of which a server has one, holds this", f"IN_FILE={same}"]


def _by_fabric(config: HostConfig) -> dict[str, dict[str, str]]:
    """Return the settings of ``bnxt_re.conf`` that each fabric needs, by fabric name.

    A server has only one such file, which holds the settings for the first fabric.
    """
    fabrics = dict.fromkeys(nic.fabric for nic in config.nics if nic.vendor == "Broadcom")
    return {fabric: bnxt_re_conf(config.qos_of(fabric)) for fabric in fabrics}


def bnxt_re_conf(qos: HostQos) -> dict[str, str]:
    """Return the settings by which Broadcom's package bnxt_re_conf gives NICs the QoS of a fabric (``qos``) when the driver is loaded.

    ``FC_MODE`` is 1 for PFC, 2 for congestion control, 3 for both (bnxt_setupcc.sh, option -m). Congestion control applies to the
    whole NIC, so it is on if switches mark packets of any class. The file has no comments, because it is not known whether the package
    accepts them.
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


CUT_INTERVAL_US = 8
"""The shortest time between two rate cuts of a queue pair, in microseconds. The Thor2's own value is not public.

With ConnectX's 4 us, an all-to-all of RCCL is predicted a quarter lower than published at 1 GiB. With 12 us, it is
predicted a third higher (docs/validation.md, "What was fitted").
"""


class Broadcom(Vendor):
    """The vendor Broadcom, with BCM576xx (drivers bnxt_en, bnxt_re)."""

    modules = ("driver_file",)

    @property
    def rdma_devices(self) -> str:
        """The regular expression of Broadcom's RDMA device names, such as ``bnxt_re0``."""
        return r"bnxt_re\d+"

    def checklist(self) -> list[str]:
        """Return the checklist item for Broadcom: both drivers must be loaded, in the version that was installed."""
        return [
            "- [ ] Broadcom's drivers are loaded, in the version that was installed: bnxt_en, bnxt_re. Thor2 guide, section 2.6,",
            "      item 1, and section 2.2.1.2.",
            "      check: `lsmod | grep -E '^bnxt_(en|re) '`; `modinfo -F version bnxt_en bnxt_re`",
            "",
        ]

    def qos_script(self) -> str:
        """Return the shell functions ``apply_broadcom`` and ``show_broadcom``, which set and show the QoS of Broadcom's NICs."""
        return script("broadcom", "nic_qos.sh")

    def nvm_script(self) -> str:
        """Return the shell function ``broadcom``, which sets and shows the settings in the flash of Broadcom's NICs."""
        return script("broadcom", "nic_nvm.sh")

    def transport(self, model: str) -> NicTransport:
        """Return DCQCN-P as the congestion control in the simulator, with the rate reduction of ConnectX and a fitted time between rate cuts."""
        note = (
            f"{model}: DCQCN-P's values are not public: ConnectX's reaction is assumed, but {CUT_INTERVAL_US} us between cuts (fitted); "
            "2 packets an ACK"
        )
        return NicTransport("dcqcn-p", note, {"host.ack-every": "2", "dcqcn.cut-interval": f"{CUT_INTERVAL_US}us"})

    @property
    def driver_file_paths(self) -> tuple[str, ...]:
        """The path of ``bnxt_re.conf``, which Broadcom's package bnxt_re_conf reads."""
        return (PATH,)

    def driver_files(self, config: HostConfig) -> dict[str, dict[str, str]]:
        """Return the settings of ``bnxt_re.conf`` by path if the server has Broadcom NICs, or else an empty dictionary."""
        return files(config)

    def qos_variables(self, config: HostConfig, fabric: str) -> list[str]:
        """Return the lines of ``nic-qos.sh`` that set ``IN_FILE``: ``yes`` if ``bnxt_re.conf`` holds the settings of this fabric, else ``no``."""
        return variables(config, fabric)


VENDOR = Broadcom()
