"""AMD (Pensando Pollara 400): see ``Vendor`` for what each part is.

All of it is nicctl, AMD's tool, as AMD's documentation uses it ("AMD Instinct, Network configuration for performance
optimization: AMD Pensando Pollara 400"). What no public document says, and what is therefore left alone:

- settings that the adapter keeps in its flash, but for profiles that come with AMD's packages;
- purposes of DSCPs, such as ``xccl-cts`` for RCCL's clear-to-send messages: what they change is not public. Those of an earlier set-up are
  taken away, as AMD's own script does ("vLLM/SGLang distributed inference with MoRI", qos.sh); clear-to-send messages have the DSCP of
  congestion notification, as there;
- how many entries the GID table has, and how many messages the adapter takes a second;
- what the numbers of its congestion control mean. They are set as AMD recommends, but for the DSCP of notification packets.
"""

from __future__ import annotations

from railweave.nics import script
from railweave.nics.protocol import NicTransport, Vendor


class Amd(Vendor):
    """AMD, Pensando Pollara 400 (drivers ionic, ionic_rdma)."""

    @property
    def rdma_devices(self) -> str:
        """``ionic_0``."""
        return r"ionic_\d+"

    def checklist(self) -> list[str]:
        """The RDMA driver, the tool, and that what the tool sets is gone after a reboot."""
        return [
            "- [ ] AMD's drivers are loaded, ionic and ionic_rdma, and nicctl is installed (AMD Pensando host software): without",
            "      nicctl, nic-qos.sh sets nothing. What it sets is gone after a reboot, so it runs at each boot.",
            "      check: `lsmod | grep -E '^ionic'`; `nicctl show version host-software`; `rdma link show`",
            "",
        ]

    def qos_script(self) -> str:
        """``apply_amd`` and ``show_amd``."""
        return script("amd", "nic_qos.sh")

    def nvm_script(self) -> str:
        """The function ``amd``."""
        return script("amd", "nic_nvm.sh")

    def transport(self, model: str) -> NicTransport:
        """DCQCN."""
        return NicTransport(
            "connectx",
            f"{model}: DCQCN by AMD's recommended values, whose units are not public: ConnectX's reaction is assumed",
        )


VENDOR = Amd()
