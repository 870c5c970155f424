"""The vendor NVIDIA (ConnectX). ``Vendor`` explains the methods.

- QoS is set with mlnx_qos, or with dcb(8) of iproute2.
- ECN is set in sysfs ``ecn`` with the vendor's driver (NVIDIA DOCA documentation, "Explicit Congestion Notification"), or in
  debugfs ``cc_params`` with the kernel's driver (drivers/infiniband/hw/mlx5/cong.c).
- Adaptive routing is set as in the long-haul article.
- The flash is set with mlxconfig or mstconfig.
"""

from __future__ import annotations

from railweave.nics import script
from railweave.nics.protocol import NicTransport, Vendor

ACK_EVERY = 4
"""The number of packets per acknowledgement in the simulator.

With an acknowledgement for each packet, a ring over 400G would get at most 380 GB/s, but 386.8 GB/s are published
(docs/validation.md, "What was fitted").
"""


class Nvidia(Vendor):
    """The vendor NVIDIA, with ConnectX-4 and newer (driver mlx5_core)."""

    @property
    def rdma_devices(self) -> str:
        """The regular expression of NVIDIA's RDMA device names: ``mlx5_0``, or `mlx4_0` for a ConnectX-3 in the same server."""
        return r"mlx[45]_\d+"

    def checklist(self) -> list[str]:
        """Return the checklist item for NVIDIA: the RDMA driver must be loaded."""
        return [
            "- [ ] NVIDIA's RDMA driver is loaded, mlx5_ib: as item 1 of the Thor2 guide, section 2.6, has it for Broadcom's.",
            "      check: `lsmod | grep '^mlx5_ib '`; `rdma link show`",
            "",
        ]

    def qos_script(self) -> str:
        """Return the shell functions ``apply_nvidia`` and ``show_nvidia``, which set and show the QoS of NVIDIA's NICs."""
        return script("nvidia", "nic_qos.sh")

    def nvm_script(self) -> str:
        """Return the shell function ``nvidia``, which sets and shows the settings in the flash of NVIDIA's NICs."""
        return script("nvidia", "nic_nvm.sh")

    def transport(self, model: str) -> NicTransport:
        """Return DCQCN as the congestion control in the simulator. The limit on notification packets applies to each address of a sender.

        The vendor's mlxconfig describes `MIN_TIME_BETWEEN_CNPS` as "from the port", and does not say for which packets it counts. With this
        limit, published all-to-alls are missed by 26 % on average. With one limit for the port it would be 31 %, and with one for each queue
        pair 27 % (docs/validation.md).
        """
        note = (
            f"{model}: DCQCN with NVIDIA's documented defaults; firmware may run a newer algorithm; an acknowledgement every "
            f"{ACK_EVERY} packets (found from a published rate)"
        )
        return NicTransport("connectx", note, {"host.ack-every": str(ACK_EVERY), "host.cnp-limit": "address"})


VENDOR = Nvidia()
