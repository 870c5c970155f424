"""The vendor AMD (Pensando Pollara 400). ``Vendor`` explains the methods.

All settings use nicctl, AMD's tool, as in AMD's documentation ("AMD Instinct, Network configuration for performance
optimization: AMD Pensando Pollara 400"). The following is not publicly documented, so railweave does not change it, or
sets it only as described here:

- Settings in the adapter's flash, except for profiles in AMD's packages.
- Purposes of DSCPs, such as ``xccl-cts`` for RCCL's clear-to-send messages. Their effect is not public. Purposes from an
  earlier setup are removed, as in AMD's own script ("vLLM/SGLang distributed inference with MoRI", qos.sh). Clear-to-send
  messages have the DSCP of congestion notification, as in that script.
- The size of the GID table, and the message rate of the adapter.
- The meaning of the congestion control parameters. They have AMD's recommended values, except for the DSCP of notification
  packets.
"""

from __future__ import annotations

from railweave.nics import script
from railweave.nics.protocol import NicTransport, Vendor


class Amd(Vendor):
    """The vendor AMD, with Pensando Pollara 400 (drivers ionic, ionic_rdma)."""

    @property
    def rdma_devices(self) -> str:
        """The regular expression of AMD's RDMA device names, such as ``ionic_0``."""
        return r"ionic_\d+"

    def checklist(self) -> list[str]:
        """Return the checklist items for AMD: RDMA drivers and nicctl must be installed, and nicctl's settings are lost at a reboot."""
        return [
            "- [ ] AMD's drivers are loaded, ionic and ionic_rdma, and nicctl is installed (AMD Pensando host software): without",
            "      nicctl, nic-qos.sh sets nothing. What it sets is gone after a reboot, so it runs at each boot.",
            "      check: `lsmod | grep -E '^ionic'`; `nicctl show version host-software`; `rdma link show`",
            "",
        ]

    def qos_script(self) -> str:
        """Return the shell functions ``apply_amd`` and ``show_amd``, which set and show the QoS of AMD's NICs."""
        return script("amd", "nic_qos.sh")

    def nvm_script(self) -> str:
        """Return the shell function ``amd``, which sets and shows the settings in the flash of AMD's NICs."""
        return script("amd", "nic_nvm.sh")

    def transport(self, model: str) -> NicTransport:
        """Return DCQCN as the congestion control in the simulator, with the rate reduction of ConnectX."""
        return NicTransport(
            "connectx",
            f"{model}: DCQCN by AMD's recommended values, whose units are not public: ConnectX's reaction is assumed",
        )


VENDOR = Amd()
