"""``bios.md``: the firmware menu of a server, as a checklist. What a source says of the model, then what holds for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.nics import vendors_of

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def bios(config: HostConfig) -> str:
    """The checklist."""
    lines = [
        f"# Firmware settings of {config.name}",
        "",
        f"Server model `{config.model}`" + (f", {config.gpus} x {config.gpu}." if config.gpus else ", without GPUs."),
        "",
    ]
    if config.bios:
        lines += [f"Source: {config.bios_source}.", ""]
        area = ""
        for one in config.bios:
            if one.area != area:
                area = one.area
                lines += [f"## {area}", ""]
            lines.append(f"- [ ] {one.setting}: **{one.value}**" + (f" ({one.note})" if one.note else ""))
            if one.verify:
                lines.append(f"      check: {one.verify}")
            lines.append("")
    else:
        lines += [
            "No source gives a table for this model: keep what its vendor set up for GPU work, and check the following.",
            "",
        ]
    return "\n".join(lines) + "\n" + COMMON + _iommu(config) + TAIL + _software(config)


def _iommu(config: HostConfig) -> str:
    words = " ".join(config.kernel_command_line) or "iommu=pt"
    return (
        "- [ ] IOMMU: off, or in pass-through. Thor2 guide, section 2.3: with translation, transfers between NIC and GPU are\n"
        f"      slower. `grub-railweave.cfg` asks for `{words}`.\n"
        "      check: `dmesg | grep -i 'iommu: Default domain type'` says Passthrough, or `ls /sys/class/iommu` is empty\n\n"
    )


def _software(config: HostConfig) -> str:
    lines = ["", "## Kernel and network, before a job", ""]
    for vendor in vendors_of(nic.vendor for nic in config.nics):
        lines += vendor.checklist()
    if config.gpu_vendor == "AMD":
        lines += [
            "- [ ] AMD's GPU driver is loaded, amdgpu. Thor2 guide, section 2.6, item 3.",
            "      check: `lsmod | grep '^amdgpu '`",
            "",
            "- [ ] NICs reach the GPUs' memory: ib_peer_mem is loaded, or built into ib_uverbs as in some of Ubuntu's kernels.",
            "      Thor2 guide, section 2.6, item 1; section 2.2.2.1; section 5.1, question 3.",
            "      check: `grep ib_register_peer_memory_client /proc/kallsyms` is not empty",
            "",
        ]
    elif config.gpu_vendor == "NVIDIA":
        lines += [
            "- [ ] NICs reach the GPUs' memory: by dma-buf (Linux 5.12 or newer and the driver's open kernel modules), or by the older",
            '      nvidia_peermem (NVIDIA GPU Operator documentation, "GPUDirect RDMA and GPUDirect Storage"). What ib_peer_mem is to',
            "      AMD's GPUs: Thor2 guide, section 2.6, item 1.",
            "      check: `lsmod | grep '^nvidia_peermem '`; for dma-buf `modinfo -F license nvidia` says Dual MIT/GPL; in a job with",
            "      NCCL_DEBUG=INFO, channels say GDRDMA",
            "",
        ]
    lines += [
        "- [ ] Firewall: off between the servers, on the fabric NICs at least: it can keep RDMA connections from being set up.",
        "      Thor2 guide, section 2.6, item 15.",
        "      check: `ufw status` or `systemctl is-active firewalld` says inactive; `nft list ruleset` drops nothing",
        "",
        "- [ ] No errors of NICs or GPUs in the kernel's log. Thor2 guide, section 2.6, item 16.",
        "      check: `dmesg --level=emerg,alert,crit,err`",
    ]
    return "\n".join(lines) + "\n"


COMMON = """\
## On every GPU server

- [ ] PCIe ACS: off on every switch between NIC and GPU. Thor2 guide, section 2.3; where the menu has no such setting,
      `acs-off.service` does it at every start.
      check: `acs-off.sh --check`

"""

TAIL = """\
- [ ] Memory interleaving: Auto, not disabled. Thor2 guide, section 5.1, question 8: without it RDMA from host memory gets
      about 235 of 400 Gb/s.
      check: `ib_write_bw` without GPU memory, near line rate

- [ ] NUMA nodes: one a socket (NPS1 on AMD CPUs, sub-NUMA clustering off on Intel CPUs; Thor2 guide, Table 2, has the
      latter), unless the server's vendor says otherwise.
      check: `lscpu`

- [ ] SR-IOV: off where no virtual machine uses the NICs. It is what wants ACS on (Thor2 guide, Table 2; section 5.1,
      question 9 turns it off for packet capture too).
      check: `cat /sys/class/net/*/device/sriov_numvfs`

- [ ] PCIe relaxed ordering: allowed. The menu must not forbid what the NIC asks for (AMD GPU cluster networking guide,
      "Enable PCIe relaxed ordering"; Thor2 guide, section 2.2.4.3).
      check: `lspci -vv` of the NIC says RlxdOrd+

- [ ] Link of every NIC: full speed and width (Thor2 guide, section 2.6, item 13).
      check: `lspci -vv` of the NIC, LnkSta against LnkCap
"""
