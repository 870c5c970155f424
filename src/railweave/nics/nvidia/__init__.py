"""NVIDIA (ConnectX): see ``Vendor`` for what each part is.

QoS: mlnx_qos, or dcb(8) of iproute2; sysfs ``ecn`` of the vendor's driver (NVIDIA DOCA documentation, "Explicit Congestion
Notification"), debugfs ``cc_params`` of the kernel's (drivers/infiniband/hw/mlx5/cong.c); adaptive routing as the long-haul
article sets it. Flash: mlxconfig or mstconfig.
"""

from __future__ import annotations

from railweave.nics import script
from railweave.nics.protocol import NicTransport, Vendor

ACK_EVERY = 4
"""Packets that an acknowledgement stands for. With one each, a ring over 400G gets 380 GB/s at most, and 386.8 are published
(docs/validation.md, "What was fitted")."""


class Nvidia(Vendor):
    """NVIDIA, ConnectX-4 and newer (driver mlx5_core)."""

    @property
    def rdma_devices(self) -> str:
        """The pattern of RDMA device names: ``mlx5_0``, or `mlx4_0` for a ConnectX-3 in the same server."""
        return r"mlx[45]_\d+"

    def checklist(self) -> list[str]:
        """The RDMA driver."""
        return [
            "- [ ] NVIDIA's RDMA driver is loaded, mlx5_ib: as item 1 of the Thor2 guide, section 2.6, has it for Broadcom's.",
            "      check: `lsmod | grep '^mlx5_ib '`; `rdma link show`",
            "",
        ]

    def qos_script(self) -> str:
        """``apply_nvidia`` and ``show_nvidia``."""
        return script("nvidia", "nic_qos.sh")

    def nvm_script(self) -> str:
        """The function ``nvidia``."""
        return script("nvidia", "nic_nvm.sh")

    def transport(self, model: str) -> NicTransport:
        """Return DCQCN, with notifications limited by port.

        The vendor's mlxconfig describes `MIN_TIME_BETWEEN_CNPS` as "from the port".
        """
        note = (
            f"{model}: DCQCN with NVIDIA's documented defaults; firmware may run a newer algorithm; an acknowledgement every "
            f"{ACK_EVERY} packets (found from a published rate)"
        )
        return NicTransport("connectx", note, {"host.ack-every": str(ACK_EVERY), "host.cnp-limit": "port"})


VENDOR = Nvidia()
