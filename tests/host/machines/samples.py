"""Twelve servers: ConnectX-7 with H100 or H200, Thor 2 with MI300X, healthy and not, and all that ``host check`` must say of each.

A server is a healthy one with what is the matter written into it, in the words of public logs (README.md has the pages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railweave.host.machine import CommandOutput
from tests.host.machines import Parts, Places, forms, healthy, option, pci_of, ping
from tests.host.machines.plans import plan

Plan = dict[str, Any]

DGX_H100 = Places((0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF), (0x18, 0x40, 0x4F, 0x5E, 0x9A, 0xC0, 0xCE, 0xDC))
HGX_H100 = Places((0x19, 0x3B, 0x4C, 0x5D, 0x9B, 0xBB, 0xCB, 0xDB), (0x1A, 0x3C, 0x4D, 0x5E, 0x9C, 0xBC, 0xCC, 0xDC))
MI300X = Places((0x05, 0x15, 0x65, 0x75, 0x85, 0x95, 0xE5, 0xF5), (0x06, 0x16, 0x66, 0x76, 0x86, 0x96, 0xE6, 0xF6))

_LSPCI = ("lspci", "-D", "-vvv")
_KERNEL_LOG = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")


@dataclass(frozen=True)
class Sample:
    """A server: the example that it is of, where its cards stand, what is the matter, and the verdicts that are not good.

    ``wrong`` are failures and warnings, as ``verdict check thing``; ``unseen`` the checks that not seen.
    """

    name: str
    plan: str
    places: Places
    spoil: Callable[[Parts, Plan], None]
    wrong: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    gpu: str = ""

    def written(self, folder: Path) -> tuple[Path, Parts]:
        """Its ``host.json`` in a folder, and the server."""
        file, document = plan(self.plan, folder)
        if self.gpu:
            document["gpu"]["model"] = self.gpu
            file.write_text(json.dumps(document))
        parts = healthy(document, places=self.places)
        self.spoil(parts, document)
        return file, parts


def _edit(parts: Parts, words: tuple[str, ...], pattern: str, by: str, count: int = 1) -> None:
    out = parts.commands[words].out
    changed = re.sub(pattern, by, out, count=count, flags=re.MULTILINE)
    assert changed != out, (words, pattern)
    parts.say(changed, *words)


def _log(parts: Parts, *lines: str) -> None:
    parts.say(parts.commands[_KERNEL_LOG].out + "".join(f"{line}\n" for line in lines), *_KERNEL_LOG)


def _device(parts: Parts, nic: Plan) -> str:
    return parts.links[f"/sys/class/net/{nic['netdev']}/device"]


def _nothing(parts: Parts, plan: Plan) -> None:
    """It is as it should be."""


def _narrow_slot(parts: Parts, plan: Plan) -> None:
    """A ConnectX-7 that trained at Gen4 x8: 128 Gbit/s for a port of 400."""
    nic = plan["nics"][4]
    at, address = _device(parts, nic), pci_of(parts, nic["netdev"])
    parts.files.update({f"{at}/current_link_speed": "16.0 GT/s PCIe", f"{at}/current_link_width": "8"})
    narrow = r"\g<1>LnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)"
    _edit(parts, _LSPCI, rf"(^{address} (?:.*\n)+?.*)LnkSta:\tSpeed 32GT/s \(ok\), Width x16 \(ok\)", narrow)
    _log(parts, f"pci {address}: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at 0000:99:00.0"
                " (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)")  # fmt: skip


def _isolated(parts: Parts, plan: Plan) -> None:
    """Made for virtual machines: access control on every bridge, and the IOMMU translates."""
    on = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
    # The cards' own lines stay: they have nothing to switch on.
    _edit(parts, _LSPCI, r"(ACSCap:\tSrcValid\+.*\n\t\t)ACSCtl:.*", rf"\g<1>{on}", count=0)
    for path in [one for one in parts.files if one.startswith("/sys/kernel/iommu_groups/")]:
        parts.files[path] = "DMA-FQ"
    parts.files["/proc/cmdline"] = "BOOT_IMAGE=/boot/vmlinuz root=UUID=0 ro intel_iommu=on quiet"


def _bad_cable(parts: Parts, plan: Plan) -> None:
    """A fiber with dirt on it: errors that FEC cannot mend, and a link that comes and goes."""
    nic = plan["nics"][6]
    dev = nic["netdev"]
    parts.files[f"/sys/class/net/{dev}/carrier_down_count"] = "41"
    _edit(parts, ("ethtool", "-S", dev), "rx_pcs_symbol_err_phy: 0", "rx_pcs_symbol_err_phy: 2718281")
    _edit(parts, ("ethtool", "-S", dev), r"link_down_events_phy: \d+", "link_down_events_phy: 41")
    _edit(parts, ("ethtool", "-m", dev), r"(Laser rx power low alarm +\(Channel 3\) +: )Off", r"\g<1>On")
    _edit(parts, ("ethtool", "-m", dev), r"(Laser rx power low warning +\(Channel 3\) +: )Off", r"\g<1>On")
    _edit(
        parts,
        ("ethtool", "-m", dev),
        r"(Rcvr signal avg optical power \(Channel 3\) +: ).*",
        r"\g<1>0.0891 mW / -10.50 dBm",
    )
    _log(parts, f"mlx5_core {pci_of(parts, dev)} {dev}: Link down", f"mlx5_core {pci_of(parts, dev)} {dev}: Link up")


def _xid_79(parts: Parts, plan: Plan) -> None:
    """A GPU fell off the bus while a job ran: nvidia-smi lists none any more, though seven are well."""
    lost = parts.gpus[4]
    said = CommandOutput(f"Unable to determine the device handle for GPU{lost.upper()}: Unknown Error\n", "", 255)
    for words in [one for one in parts.commands if one[0] == "nvidia-smi"]:
        parts.commands[words] = said
    _log(
        parts,
        f"NVRM: Xid (PCI:{lost[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        f"NVRM: GPU {lost}: GPU has fallen off the bus.",
        f"NVRM: Xid (PCI:{lost[:-2]}): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    )


def _lost_at_boot(parts: Parts, plan: Plan) -> None:
    """A GPU that did not answer when the driver started: no Xid, and a message of several lines."""
    lost = parts.gpus[2]
    for words in [one for one in parts.commands if one[0] == "nvidia-smi"]:
        out = parts.commands[words].out
        lines = re.split(r"^(?=GPU \d+:)", out, flags=re.MULTILINE)[1:] or out.splitlines(keepends=True)
        parts.say("".join(lines[:2] + lines[3:]), *words)
    _log(
        parts,
        f"NVRM: The NVIDIA GPU {lost}",
        "               NVRM: (PCI ID: 10de:2330) installed in this system has",
        "               NVRM: fallen off the bus and is not responding to commands.",
        f"nvidia: probe of {lost} failed with error -1",
        "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    )


def _swapped_cables(parts: Parts, plan: Plan) -> None:
    """Two cables changed places at the leaves: rails 1 and 2 are crossed."""
    words = ("lldpctl", "-f", "json0")
    document = json.loads(parts.commands[words].out)
    one, other = document["lldp"][0]["interface"][1:3]
    for key in ("chassis", "port"):
        one[key], other[key] = other[key], one[key]
    parts.say(json.dumps(document), *words)


def _just_installed(parts: Parts, plan: Plan) -> None:
    """A plain installation of the system and of the vendor's drivers: nothing of the design is there yet."""
    for nic in plan["nics"]:
        dev = nic["netdev"]
        parts.files[f"/sys/class/net/{dev}/mtu"] = "1500"
        for words in [words for words in parts.commands if words[0] == "ping" and words[-2] == dev]:
            parts.say(forms.ping(words[-1], 1452), *ping(dev, words[-1], 1500))
        _edit(parts, ("mlnx_qos", "-i", dev), "trust state: dscp", "trust state: pcp")
        _edit(parts, ("mlnx_qos", "-i", dev), r"^\tenabled .*", "\tenabled     0   0   0   0   0   0   0   0   ")
        _edit(parts, ("ibv_devinfo", "-d", nic["rdma"]), r"active_mtu:\t\t4096 \(5\)", "active_mtu:\t\t1024 (3)")
        parts.say(f"Pause parameters for {dev}:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n", "ethtool", "-a", dev)
        port = f"/sys/class/infiniband/{nic['rdma']}/tc/{nic['rdma_port']}"
        parts.files[f"{port}/traffic_class"] = ""
    parts.files["/proc/sys/kernel/numa_balancing"] = "1"
    parts.files["/proc/cmdline"] = "BOOT_IMAGE=/boot/vmlinuz root=UUID=0 ro quiet splash"
    parts.files["/proc/self/limits"] = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         67108864             67108864             bytes     "
    )
    for path in [one for one in parts.files if one.endswith("/scaling_governor")]:
        parts.files[path] = "schedutil"
    for family in (4, 6):
        for what in (("route", "show", "table", "all"), ("rule", "show")):
            parts.say("[ ]\n", "ip", "-j", f"-{family}", "-N", "-d", *what)


def _two_drivers(parts: Parts, plan: Plan) -> None:
    """The vendor's Ethernet half with the kernel's RDMA half, which does not load: there is no RDMA device."""
    parts.say("/lib/modules/6.8.0-60-generic/kernel/drivers/infiniband/hw/bnxt_re/bnxt_re.ko.zst\n",
              "modinfo", "-F", "filename", "bnxt_re")  # fmt: skip
    for kept in (parts.files, parts.links):
        for path in [one for one in kept if "/sys/class/infiniband/" in one or "/sys/module/bnxt_re/" in one]:
            del kept[path]
    for nic in plan["nics"]:
        parts.commands[("ibv_devinfo", "-d", nic["rdma"])] = CommandOutput("", "No IB devices found\n", 255)
    _log(
        parts,
        "bnxt_re: disagrees about version of symbol ib_unregister_device",
        "bnxt_re: Unknown symbol ib_unregister_device (err -22)",
    )


def _no_niccli(parts: Parts, plan: Plan) -> None:
    """The vendor's tools were not installed, and nobody set QoS: the kernel's own tool sees that PFC is off."""
    for words in [one for one in parts.commands if one[0] == "niccli"]:
        del parts.commands[words]
    for nic in plan["nics"]:
        dev = nic["netdev"]
        parts.say(json.dumps({"pfc_cap": 8, "macsec_bypass": False, "delay": 0, "prio_pfc": [False] * 8}),
                  "dcb", "-j", "pfc", "show", "dev", dev)  # fmt: skip
        parts.say("{}\n", "dcb", "-j", "app", "show", "dev", dev)


def _firmware_owns_qos(parts: Parts, plan: Plan) -> None:
    """DCBX of the firmware is on, so the driver may not set classes; and GPUs run the kernel's own driver."""
    for nic in plan["nics"]:
        words = option(nic, pci_of(parts, nic["netdev"]), "dcbx_mode")
        parts.say("dcbx_mode = 3\n", *words)
    del parts.files["/sys/module/amdgpu/version"]
    parts.files["/sys/module/amdgpu/srcversion"] = "0123456789ABCDEF0123456"
    _log(
        parts,
        "bnxt_en 0000:06:00.0 eth1: Fail to setets rc:-22",
        "bnxt_re0: Fail to setets rc:-22",
        "Fail to initialize Flow control",
    )


_ALL_H100 = tuple(f"gpu{i}_eth" for i in range(8))
_ALL_MI300X = tuple(f"eth{i}" for i in range(1, 9))


def _each(text: str, of: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{text} {one}" for one in of)


SAMPLES = (
    Sample("dgx-h100", "h100-rlb", DGX_H100, _nothing),
    Sample("hgx-h100-x8", "h100-rlb", HGX_H100, _narrow_slot, ("failed pcie-speed gpu4_eth", "failed pcie-width gpu4_eth")),
    Sample("hgx-h100-for-virtual-machines", "h100-rlb", HGX_H100, _isolated,
           ("failed pcie-acs", "failed iommu-mode", "failed system-command-line")),
    Sample("dgx-h100-bad-cable", "h100-rlb", DGX_H100, _bad_cable,
           ("failed link-errors gpu6_eth", "failed link-module gpu6_eth", "failed link-light gpu6_eth",
            "warning link-flaps gpu6_eth")),
    Sample("hgx-h200-xid-79", "h100-rlb", HGX_H100, _xid_79, ("failed gpu-count", "failed log-gpu", "failed log-xid"),
           ("gpu-clocks", "gpu-fabric", "gpu-links", "gpu-memory-errors", "gpu-partition", "gpu-peer-access", "gpu-persistence", "gpu-power-limit", "gpu-vbios"), "H200"),
    Sample("hgx-h100-lost-at-boot", "h100-rlb", HGX_H100, _lost_at_boot, ("failed gpu-count", "failed log-gpu")),
    Sample("dgx-h100-swapped-cables", "h100-rlb", DGX_H100, _swapped_cables,
           ("failed link-neighbor gpu1_eth", "failed link-neighbor gpu2_eth")),
    Sample("dgx-h100-just-installed", "h100-rlb", DGX_H100, _just_installed,
           (*_each("failed link-mtu", _ALL_H100), *_each("failed rdma-mtu", _ALL_H100), *_each("failed qos-trust", _ALL_H100),
            *_each("failed qos-pfc", _ALL_H100), *_each("failed qos-global-pause", _ALL_H100),
            *_each("failed qos-traffic-class", _ALL_H100), "failed host-routes", "failed system-command-line",
            "failed system-sysctl kernel.numa_balancing", "failed system-memlock", "warning system-governor")),
    Sample("mi300x-thor2", "mi300x-leaf-24", MI300X, _nothing),
    Sample("mi300x-thor2-two-drivers", "mi300x-leaf-24", MI300X, _two_drivers,
           ("failed driver-loaded bnxt_re", "failed driver-origin bnxt_en", *_each("failed rdma-device", _ALL_MI300X), "failed log-modules"),
           ("counters-lifespan", "rdma-gid-order", "rdma-gids", "rdma-mtu", "rdma-port", "rdma-uverbs", "rdma-verbs",
            "share-completions", "share-receiver", "share-resends", "share-timeouts")),
    Sample("mi300x-thor2-no-niccli", "mi300x-leaf-24", MI300X, _no_niccli, _each("failed qos-pfc", _ALL_MI300X),
           ("nic-flash", "qos-dscp", "qos-trust")),
    Sample("mi300x-thor2-firmware-dcbx", "mi300x-leaf-24", MI300X, _firmware_owns_qos,
           (*_each("failed nic-flash", _ALL_MI300X), "failed log-nic")),
)  # fmt: skip
"""All of them."""
