"""What a server needs before a job: kernel command line, locked memory, PCIe access control off.

Thor2 guide, sections 2.3 (ACS and IOMMU) and Appendix C (what its own script does once; this one also lasts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.shell import body
from railweave.outputs.rendering.host.units import BEFORE_JOBS

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def files(config: HostConfig) -> dict[str, str]:
    """Text by file name."""
    found = {"limits.conf": LIMITS, "acs-off.sh": body("acs_off.sh"), "acs-off.service": ACS_SERVICE}
    if config.kernel_command_line:
        found["grub-railweave.cfg"] = grub(config)
    return found


def grub(config: HostConfig) -> str:
    """A drop-in for ``/etc/default/grub.d``, as Debian and Ubuntu read it."""
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
