"""Files that prepare a server for jobs: kernel parameters, locked memory, PCIe access control, and a firmware checklist.

The sources are the Thor2 guide, section 2.3 (ACS and IOMMU) and Appendix C. Settings of the script in Appendix C are
lost at a reboot; these settings persist.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.nics import vendors_of
from railweave.outputs.rendering.host.shell import body, comment_head
from railweave.outputs.rendering.host.units import BEFORE_JOBS

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def bios(config: HostConfig) -> str:
    """Return the text of ``bios.md``, the checklist of firmware settings."""
    lines = [
        f"# Firmware settings of {config.name}",
        "",
        f"Server model `{config.model}`" + (f", {config.gpus} x {config.gpu}." if config.gpus else ", without GPUs."),
        "",
    ]
    if config.bios:
        lines += [f"Source: {config.bios_source}.", ""]
        area = ""
        for option in config.bios:
            if option.area != area:
                area = option.area
                lines += [f"## {area}", ""]
            lines.append(f"- [ ] {option.setting}: **{option.value}**" + (f" ({option.note})" if option.note else ""))
            if option.verify:
                lines.append(f"      check: {option.verify}")
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


_RA = ("accept_ra", "autoconf", "use_tempaddr", "addr_gen_mode", "max_addresses")

_GROUPS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        _RA,
        (
            "The kernel forms addresses from router advertisements: accept_ra and autoconf (RLB document, Server SLAAC Configuration).",
            "On a server that forwards (net.ipv6.conf.all.forwarding=1, as containers want it) accept_ra must be 2, else the kernel",
            "ignores advertisements (Linux, Documentation/networking/ip-sysctl).",
            "use_tempaddr 0, addr_gen_mode 0: no privacy addresses, and the host part from the MAC (EUI-64), for the design knows the",
            "addresses from it. Ubuntu sets use_tempaddr to 2 in 10-ipv6-privacy.conf.",
            "max_addresses: the kernel silently leaves out prefixes beyond it; the default is 16 and the link-local address counts.",
        ),
    ),
    (
        ("keep_addr_on_down",),
        (
            "Static IPv6 addresses stay when their interface is set down, and the GIDs with them (ip-sysctl). Addresses from router",
            "advertisements go then whatever this says: they have a lifetime. The loss of the carrier alone removes neither.",
        ),
    ),
    (
        ("arp_announce", "arp_ignore"),
        (
            "No ARP flux: a NIC answers and announces its own addresses only; otherwise the RDMA stack can take one NIC's address to",
            "belong to another's device (Thor2 guide, section 2.4).",
        ),
    ),
    (
        ("rp_filter",),
        (
            "Loose reverse-path check (RFC 3704): by the main table, which the strict check looks at too, an answer may leave by",
            "another NIC than the one it came in by; with source routing that is no sign of a forged address.",
        ),
    ),
    (
        ("gc_thresh1", "gc_thresh2", "gc_thresh3"),
        (
            "More neighbors can be met on the NICs' segments than the kernel keeps (1024, for the whole server): every address of the",
            "other servers, and the gateways. Beyond gc_thresh3 packets are dropped (ip-sysctl). At least double what is designed.",
        ),
    ),
    (
        ("numa_balancing",),
        ("Memory that GPUs and NICs read is not to be moved between NUMA nodes under way (Thor2 guide, section 2.6).",),
    ),
)


def sysctl_conf(config: HostConfig) -> str:
    """Return the text of sysctl.conf."""
    lines = comment_head(config, "/etc/sysctl.d/70-railweave.conf")
    if config.advertisements_by == "networkd" and any(nic.slaac for nic in config.nics):
        lines += [
            "",
            "# accept_ra is not set: systemd-networkd handles router advertisements itself, sets it to 0 on its interfaces and needs",
            "# no 1 there (the RLB document's Server SLAAC Configuration says otherwise; measured with systemd 252). With a 1 the kernel",
            "# would handle every advertisement a second time. max_addresses is the kernel's limit and none of networkd's.",
        ]
    left = dict(config.sysctl)
    for names, why in _GROUPS:
        group = {key: left.pop(key) for key in list(left) if re.split(r"[./]", key)[-1] in names}
        if group:
            lines += ["", *(f"# {line}" for line in why), *(f"{key} = {value}" for key, value in group.items())]
    lines += ["", *(f"{key} = {value}" for key, value in left.items())] if left else []
    return "\n".join(lines) + "\n"


def files(config: HostConfig) -> dict[str, str]:
    """Return the texts of the files that this module writes, by name."""
    texts = {"limits.conf": LIMITS, "acs-off.sh": body("acs_off.sh"), "acs-off.service": ACS_SERVICE}
    if config.kernel_command_line:
        texts["grub-railweave.cfg"] = grub(config)
    return texts


def grub(config: HostConfig) -> str:
    """Return the file that adds the server's kernel parameters in ``/etc/default/grub.d``, as Debian and Ubuntu read it."""
    words = " ".join(config.kernel_command_line)
    remark = ""
    if "amd_iommu=on" in config.kernel_command_line:
        remark = "# amd_iommu=on is in the source, though the kernel documents no such value: AMD's IOMMU is on by default.\n"
    return (
        f"# Kernel command line of {config.name}, written by railweave for {config.network}.\n"
        f"# IOMMU in pass-through: NIC and GPU use addresses as they are. Source: {config.kernel_command_line_source}.\n"
        f"{remark}"
        "# Debian, Ubuntu: install as /etc/default/grub.d/grub-railweave.cfg, then update-grub and restart.\n"
        f"# Red Hat: grubby --update-kernel=ALL --args='{words}', then restart.\n"
        "# Check: cat /proc/cmdline; dmesg | grep -i 'iommu: default domain type' says Passthrough.\n"
        f'GRUB_CMDLINE_LINUX="${{GRUB_CMDLINE_LINUX:-}} {words}"\n'
    )


LIMITS = """\
# Memory that programs may lock: RDMA pins what it registers, and NCCL registers gigabytes.
# Install as /etc/security/limits.d/90-railweave.conf; it holds for logins (PAM), also by ssh, from the next one on.
# The star does not match root (limits.conf(5)), so root stands beside it.
* soft memlock unlimited
* hard memlock unlimited
root soft memlock unlimited
root hard memlock unlimited
# Services take no limits from here. Where jobs come from one (slurmd, kubelet, containerd, docker), give its unit a drop-in,
# systemctl edit slurmd.service:
#   [Service]
#   LimitMEMLOCK=infinity
# Check on a server, as a job sees it: ulimit -l says unlimited.
"""

ACS_SERVICE = f"""\
# Turns PCIe ACS off at every start. Install acs-off.sh as /usr/local/sbin/acs-off.sh (mode 755) and this as
# /etc/systemd/system/acs-off.service, then: systemctl enable --now acs-off.service
[Unit]
Description=PCIe Access Control Services off, for GPU to NIC transfers
Documentation=man:setpci(8)
# Drivers probe PCI devices before; whatever may start a job comes after.
After=systemd-udev-settle.service systemd-modules-load.service
{BEFORE_JOBS}
ConditionVirtualization=!container

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/acs-off.sh
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
"""
