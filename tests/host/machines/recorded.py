"""Twelve servers as their owners' public pages show them, without a design: other names, cards, tools and addresses than the examples'.

``Recording.parts`` writes what the machine answers. The faults of ``FAULTS`` change one recorded answer each, a file or what a
command printed; they know nothing of the fixtures of single checks. README.md names the pages of the forms.
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from railweave.host import discovery
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, WARNING
from railweave.host.machine import CommandOutput
from tests.host.machines import Parts, Written, forms, ping

_IDS = {
    "cx5": ("0x15b3", "0x1017"), "cx6": ("0x15b3", "0x101b"), "cx6dx": ("0x15b3", "0x101d"), "cx7": ("0x15b3", "0x1021"),
    "cx8": ("0x15b3", "0x1023"), "bf3": ("0x15b3", "0xa2dc"), "thor2": ("0x14e4", "0x1760"), "pollara": ("0x1dd8", "0x1002"),
}  # fmt: skip
_DRIVERS = {"0x15b3": "mlx5_core", "0x14e4": "bnxt_en", "0x1dd8": "ionic"}
_GPUS = {
    "A100": ("0x10de", "0x030200", "0x20b2"), "H100": ("0x10de", "0x030200", "0x2330"), "H200": ("0x10de", "0x030200", "0x2335"),
    "B200": ("0x10de", "0x030200", "0x2901"), "GB200": ("0x10de", "0x030200", "0x2941"), "L40S": ("0x10de", "0x030200", "0x26b9"),
    "MI300X": ("0x1002", "0x120000", "0x74a1"), "MI325X": ("0x1002", "0x120000", "0x74a5"),
}  # fmt: skip
_LOG = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")


@dataclass(frozen=True)
class Recording:
    """A server: its product, GPUs and cards, and how its owner set it up.

    - ``nets`` and ``rdma``: the names of interfaces and RDMA devices, with ``{}`` for the number.
    - ``per_gpu``: NICs beside each GPU; ``spare``: further ports without a cable, of another board.
    - ``scheme``: the addresses: IPv4 of a /31 or of a subnet for each NIC, or IPv6 from advertisements.
    - ``tools``: the tools that are installed besides those of distributions.
    - ``module``: the kind of module that ``ethtool -m`` shows.
    """

    name: str
    product: tuple[str, str]
    gpu: str
    gpus: int
    card: str
    nets: str
    rdma: str
    speed: int
    scheme: str
    tools: frozenset[str]
    per_gpu: int = 1
    first: int = 0
    spare: int = 0
    mtu: int = 9000
    kernel: str = "5.15.0-119-generic"
    module: str = "cmis"
    priority: int = 3
    sockets: int = 2
    origin: str = "updates/dkms"

    @property
    def vendor(self) -> str:
        """The maker of the GPUs."""
        return "AMD" if self.gpu.startswith("MI") else "NVIDIA"

    @property
    def driver(self) -> str:
        """The driver of the NICs."""
        return _DRIVERS[_IDS[self.card][0]]

    def names(self) -> list[tuple[str, str]]:
        """The interface and RDMA device of each NIC, the spare ones last."""
        count = self.gpus * self.per_gpu + self.spare
        return [(self.nets.format(self.first + i), self.rdma.format(i)) for i in range(count)]

    def parts(self) -> Parts:
        """What the machine answers."""
        parts = Parts()
        _system(self, parts)
        links: list[dict[str, object]] = []
        blocks: dict[str, str] = {}
        lldp: list[dict[str, object]] = []
        for i in range(self.gpus):
            _gpu(self, parts, i, blocks)
        for i, (net, rdma) in enumerate(self.names()):
            used = i < self.gpus * self.per_gpu
            _nic(self, parts, i, net, rdma, blocks, used=used)
            links.append({"ifname": net, "addr_info": _addresses(self, i) if used else []})
            if used:
                lldp.append(_neighbor(net, f"leaf-{i % 2 + 1}", f"Ethernet1/{i + 1}"))
        parts.say(json.dumps([{"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]}, *links]),
                  "ip", "-j", "addr", "show")  # fmt: skip
        parts.say("\n".join(block for _, block in sorted(blocks.items())), "lspci", "-D", "-vvv")
        if "lldpctl" in self.tools:
            parts.say(json.dumps({"lldp": [{"interface": lldp}]}), "lldpctl", "-f", "json0")
        _gpu_tools(self, parts)
        return parts


def _bus(recording: Recording, i: int) -> tuple[str, int]:
    """The bridges above the i-th GPU, as a path, and the bus below them."""
    first = 0x10 + 0x18 * i
    bridges = (f"0000:{first:02x}:01.0", f"0000:{first + 1:02x}:00.0", f"0000:{first + 2:02x}:01.0")
    return f"/sys/devices/pci0000:{first:02x}/" + "/".join(bridges), first + 3


def _node(recording: Recording, i: int) -> int:
    return i * recording.sockets // recording.gpus


def _gpu(recording: Recording, parts: Parts, i: int, blocks: dict[str, str]) -> None:
    above, bus = _bus(recording, i)
    address = f"0000:{bus + 4:02x}:00.0"
    at = f"{above}/{address}"
    parts.gpus.append(address)
    parts.links[f"/sys/bus/pci/devices/{address}"] = at
    for bridge in above.split("/")[4:]:
        blocks[bridge] = forms.lspci_bridge(bridge)
    vendor, kind, device = _GPUS[recording.gpu]
    window = (128 << 30) - 1
    parts.files.update({
        f"{at}/vendor": vendor, f"{at}/class": kind, f"{at}/device": device, f"{at}/numa_node": str(_node(recording, i)),
        f"{at}/current_link_width": "16", f"{at}/max_link_width": "16",
        f"{at}/resource": f"0x{i + 1 << 40:016x} 0x{(i + 1 << 40) + window:016x} 0x000000000014220c",
    })  # fmt: skip


def _nic(
    recording: Recording, parts: Parts, i: int, net: str, rdma: str, blocks: dict[str, str], *, used: bool
) -> None:
    vendor, device = _IDS[recording.card]
    gpu = i // recording.per_gpu if used else 0
    above, bus = _bus(recording, gpu)
    if used:
        address = f"0000:{bus + i % recording.per_gpu:02x}:00.0"
        at = f"{above}/{address}"
    else:
        address = f"0000:{0xE8 + i - recording.gpus * recording.per_gpu:02x}:00.0"
        at = f"/sys/devices/pci0000:e6/0000:e6:01.0/{address}"
    port, folder = f"/sys/class/infiniband/{rdma}/ports/1", f"/sys/class/net/{net}"
    parts.links.update({
        f"{folder}/device": at, f"/sys/class/infiniband/{rdma}/device": at, f"/sys/bus/pci/devices/{address}": at,
        f"{at}/driver": f"/sys/bus/pci/drivers/{recording.driver}",
    })  # fmt: skip
    rate = (
        "64.0 GT/s PCIe" if recording.speed > 400 else "32.0 GT/s PCIe" if recording.speed > 200 else "16.0 GT/s PCIe"
    )
    cpus = [2 * _node(recording, gpu), 2 * _node(recording, gpu) + 1]
    parts.files.update({
        f"{at}/vendor": vendor, f"{at}/device": device, f"{at}/class": "0x020000", f"{at}/numa_node": str(_node(recording, gpu)),
        f"{at}/current_link_speed": rate, f"{at}/max_link_speed": rate, f"{at}/current_link_width": "16", f"{at}/max_link_width": "16",
        **{f"{at}/aer_dev_{kind}": f"Undefined 0\nDLP 0\nTOTAL_ERR_{name} 0" for kind, name in (("fatal", "FATAL"), ("nonfatal", "NONFATAL"), ("correctable", "COR"))},
        f"{at}/local_cpulist": f"{cpus[0]}-{cpus[1]}", f"{at}/msi_irqs/{400 + 4 * i}": "msix",
        f"/proc/irq/{400 + 4 * i}/smp_affinity_list": str(cpus[0]),
        f"{folder}/address": f"94:6d:ae:00:00:{i:02x}", f"{folder}/mtu": str(recording.mtu if used else 1500), f"{folder}/flags": "0x1003",
        f"{folder}/carrier": "1" if used else "0", f"{folder}/carrier_down_count": "2", f"{folder}/ifindex": str(i + 5),
        f"{folder}/speed": str(recording.speed * 1000) if used else "-1",
        f"{port}/state": "4: ACTIVE" if used else "1: DOWN", f"{port}/phys_state": "5: LinkUp" if used else "3: Disabled",
        f"{port}/link_layer": "Ethernet", f"{port}/hw_counters/lifespan": "10",
        f"/sys/class/infiniband/{rdma}/board_id": "MT_0000000838" if used else "MT_0000000834",
        f"/sys/class/infiniband_verbs/uverbs{i}/ibdev": rdma,
        **{f"/proc/sys/net/ipv4/conf/{net}/{name}": value for name, value in (("arp_ignore", "1"), ("arp_announce", "2"), ("rp_filter", "0"))},
    })  # fmt: skip
    gids = [("fe80::966d:aeff:fe00:1", "IB/RoCE v1"), ("fe80::966d:aeff:fe00:1", "RoCE v2")]
    for entry in _addresses(recording, i) if used else ():
        if entry["scope"] == "global":
            gids += [(str(entry["local"]), "IB/RoCE v1"), (str(entry["local"]), "RoCE v2")]
    for index, (gid, kind) in enumerate(gids):
        value = ipaddress.ip_address(gid)
        full = value if value.version == 6 else ipaddress.IPv6Address(f"::ffff:{value}")
        parts.files.update(
            {
                f"{port}/gids/{index}": full.exploded,
                f"{port}/gid_attrs/types/{index}": kind,
                f"{port}/gid_attrs/ndevs/{index}": net,
            }
        )
    names = (("oos_drop_count", "seq_err_naks_rcvd", "missing_resp", "to_retransmits", "max_retry_exceeded", "remote_access_err", "rnr_naks_rcvd", "rx_out_of_buffer", "tx_roce_discards")
             if recording.driver == "bnxt_en" else
             ("out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer", "rnr_nak_retry_err", "resp_cqe_error", "roce_adp_retrans"))  # fmt: skip
    parts.files.update({f"{port}/hw_counters/{name}": "12" for name in names})
    sent = "hw_counters/tx_pkts" if recording.driver == "bnxt_en" else "counters/port_xmit_packets"
    parts.files[f"{port}/{sent}"] = "5201349987" if used else "0"
    if recording.driver != "ionic":
        blocks[address] = forms.lspci_nic(address, recording.driver)
    else:
        blocks[address] = forms.lspci_nic(address, "ionic")
    version = {"mlx5_core": "28.39.3004", "bnxt_en": "231.2.63.0/pkg 231.1.162.1", "ionic": "1.110.1-a-1"}[
        recording.driver
    ]
    parts.say(
        f"driver: {recording.driver}\nversion: {recording.kernel}\nfirmware-version: {version}\nbus-info: {address}\n",
        "ethtool",
        "-i",
        net,
    )
    parts.say(forms.counters(recording.driver, recording.priority), "ethtool", "-S", net)
    parts.say(f"Pause parameters for {net}:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n", "ethtool", "-a", net)
    parts.say(
        f"FEC parameters for {net}:\nSupported/Configured FEC encodings: Auto\nActive FEC encoding: {'RS' if used else 'None'}\n",
        "ethtool",
        "--show-fec",
        net,
    )
    parts.commands["ethtool", "-m", net] = _module(recording)
    parts.say(forms.devinfo(rdma, 1, recording.driver), "ibv_devinfo", "-d", rdma)
    _qos(recording, parts, net, address)


def _module(recording: Recording) -> CommandOutput:
    if recording.module == "dac":
        return CommandOutput("", "netlink error: Operation not supported\n", 95)
    if recording.module == "cmis":
        return CommandOutput(forms.module())
    rows = [("Identifier", "0x11 (QSFP28)"), ("Transceiver type", "100G Ethernet: 100GBASE-SR4"), ("Laser wavelength", "850.000nm"),
            ("Module temperature", "41.44 degrees C / 106.59 degrees F"), ("Module voltage", "3.2621 V"), ("Alarm/warning flags implemented", "Yes"),
            *((f"Rcvr signal avg optical power(Channel {lane})", "0.9832 mW / -0.07 dBm") for lane in range(1, 5)),
            *((f"Laser rx power {level}   (Channel {lane})", "Off") for lane in range(1, 5) for level in ("high alarm", "low alarm"))]  # fmt: skip
    return CommandOutput("".join(f"\t{name:<41} : {value}\n" for name, value in rows))


def _qos(recording: Recording, parts: Parts, net: str, address: str) -> None:
    fabric = {
        "roce": {"priority": recording.priority, "dscp": 26, "lossless": True, "bandwidth_percent": 50},
        "cnp": {"priority": 6, "dscp": 48},
    }
    if "mlnx_qos" in recording.tools:
        parts.say(forms.mlnx_qos(fabric, 7), "mlnx_qos", "-i", net)
    if "niccli" in recording.tools:
        parts.say(forms.niccli(fabric), "niccli", "--dev", address, "qos", "--ets", "--show")
    if "dcb" in recording.tools:
        paused = [i == recording.priority for i in range(8)]
        parts.say(json.dumps({"pfc_cap": 8, "delay": 0, "prio_pfc": paused}), "dcb", "-j", "pfc", "show", "dev", net)
        parts.say(
            json.dumps({"dscp_prio": [[26, recording.priority], [48, 6]]}), "dcb", "-j", "app", "show", "dev", net
        )
        parts.say(json.dumps({"ets_cap": 8, "tc_bw": [50, 50, 0, 0, 0, 0, 0, 0], "tc_tsa": ["ets", "ets", *["strict"] * 6], "prio_tc": [0, 0, 0, 1, 0, 0, 2, 0]}),
                  "dcb", "-j", "ets", "show", "dev", net)  # fmt: skip
    if recording.driver == "bnxt_en":
        parts.files[f"/sys/kernel/debug/bnxt_re/{address}/cc_config/enable_cc"] = "0x1"
    elif recording.driver == "mlx5_core" and "mlnx_qos" in recording.tools:
        ecn = f"/sys/class/net/{net}/ecn"
        for side in ("roce_np", "roce_rp"):
            parts.files.update({f"{ecn}/{side}/enable/{priority}": "1" for priority in range(8)})
        parts.files.update({f"{ecn}/roce_np/cnp_dscp": "48", f"{ecn}/roce_np/cnp_802p_prio": "6"})
        settings = (
            ("SRIOV_EN", "False(0)"),
            ("LINK_TYPE_P1", "ETH(2)"),
            ("ROCE_CONTROL", "ROCE_ENABLE(2)"),
            ("PCI_WR_ORDERING", "force_relax(1)"),
        )
        rows = "".join(f"        {name:<44}{value}\n" for name, value in settings)
        parts.say(f"\nDevice #1:\n----------\n\nDevice:             {address}\n\nConfigurations:                          Next Boot\n{rows}",
                  "mlxconfig", "-d", address, "query")  # fmt: skip
        parts.say("Field Name                  | Data\n==========\nroce_adp_retrans_en         | 0x00000001\nadaptive_routing_forced_en  | 0x00000000\n",
                  "mlxreg", "-d", address, "--reg_name", "ROCE_ACCL", "--get")  # fmt: skip


def _addresses(recording: Recording, i: int) -> list[dict[str, object]]:
    """The addresses of a NIC; with ``/31``, each NIC has a point-to-point link to its leaf."""
    local = {"family": "inet6", "local": f"fe80::966d:aeff:fe00:{i:x}", "prefixlen": 64, "scope": "link"}
    if recording.scheme == "slaac":
        return [
            {"family": "inet6", "local": f"fc00:1:{i:x}::966d:aeff:fe00:{i:x}", "prefixlen": 64, "scope": "global"},
            local,
        ]
    v4 = f"10.{200 + i}.0.1" if recording.scheme == "/31" else f"192.168.{i + 1}.10"
    return [
        {"family": "inet", "local": v4, "prefixlen": 31 if recording.scheme == "/31" else 24, "scope": "global"},
        local,
    ]


def _gateway(recording: Recording, i: int) -> str:
    by_scheme = {"/31": f"10.{200 + i}.0.0", "/24": f"192.168.{i + 1}.1", "slaac": f"fc00:1:{i:x}::1"}
    return str(ipaddress.ip_address(by_scheme[recording.scheme]))


def _neighbor(net: str, switch: str, port: str) -> dict[str, object]:
    return {
        "name": net, "via": "LLDP", "chassis": [{"id": [{"type": "mac", "value": "24:8a:07:00:00:01"}], "name": [{"value": switch}], "descr": [{"value": "Ethernet switch"}]}],
        "port": [{"id": [{"type": "ifname", "value": port}], "descr": [{"value": ""}], "mfs": [{"value": "9236"}], "ttl": [{"value": "120"}]}],
    }  # fmt: skip


def _system(recording: Recording, parts: Parts) -> None:
    cpus = 2 * recording.sockets
    parts.files.update({
        "/sys/class/dmi/id/sys_vendor": recording.product[0], "/sys/class/dmi/id/product_name": recording.product[1], "/sys/class/dmi/id/bios_version": "3.2",
        "/proc/sys/kernel/hostname": recording.name, "/proc/sys/kernel/osrelease": recording.kernel, "/proc/sys/kernel/numa_balancing": "0",
        "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{recording.kernel} root=UUID=1 ro iommu=pt",
        "/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1048576              1048576              files\n"
                             "Max locked memory         unlimited            unlimited            bytes",
        "/proc/self/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0", "/proc/meminfo": f"MemTotal:       {recording.sockets * 528281412} kB\nHugePages_Total:       0",
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never", "/sys/devices/system/cpu/smt/active": "1",
        **{f"/sys/kernel/iommu_groups/{i}/type": "identity" for i in range(4)},
        **{f"/sys/devices/system/node/node{i}/cpulist": f"{2 * i}-{2 * i + 1}" for i in range(recording.sockets)},
        **{f"/sys/devices/system/node/node{i}/meminfo": f"Node {i} MemTotal:       528281412 kB" for i in range(recording.sockets)},
        **{f"/sys/devices/system/cpu/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(cpus)},
        **{f"/sys/devices/system/cpu/cpu{i}/topology/physical_package_id": str(i // 2) for i in range(cpus)},
        **{f"/proc/sys/net/ipv4/conf/all/{name}": "0" for name in ("arp_ignore", "arp_announce", "rp_filter")},
    })  # fmt: skip
    parts.say("yes\n", "timedatectl", "show", "-p", "NTPSynchronized", "--value")
    parts.say(
        "Filesystem     1024-blocks      Used Available Capacity Mounted on\n/dev/nvme0n1p2   922906020 101231020 821675000      11% /\n",
        "df",
        "-Pk",
        "/var/log",
    )
    parts.say(
        "Linux version\nmlx5_core: Port module event: module 0, Cable plugged\nNVRM: loading NVIDIA UNIX x86_64 Kernel Module\n",
        *_LOG,
    )
    parts.say(json.dumps({"nftables": [{"metainfo": {"version": "1.0.2"}}]}), "nft", "-j", "list", "ruleset")
    parts.say("-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n", "iptables-legacy", "-S")
    parts.say("[]", "ip", "-j", "neigh", "show", "nud", "permanent")
    parts.say(
        json.dumps([{"dst": "default", "gateway": "198.51.100.1", "dev": "eno1"}]),
        "ip",
        "-j",
        "route",
        "show",
        "default",
    )
    parts.say(
        json.dumps([{"kind": "mq", "handle": "0:", "dev": net, "root": True} for net, _ in recording.names()]),
        "tc",
        "-j",
        "qdisc",
        "show",
    )
    routes: dict[int, list[dict[str, object]]] = {4: [], 6: []}
    for i, (net, _) in enumerate(recording.names()[: recording.gpus * recording.per_gpu]):
        gateway = _gateway(recording, i)
        row = {
            "type": "unicast",
            "dst": "default",
            "gateway": gateway,
            "dev": net,
            "table": str(101 + i),
            "protocol": "4",
            "scope": "0",
            "flags": [],
        }
        routes[6 if ":" in gateway else 4].append(row)
        parts.say(forms.ping(gateway, recording.mtu - 28), *ping(net, gateway, recording.mtu))
    for family, rows in routes.items():
        parts.say(json.dumps(rows), "ip", "-j", f"-{family}", "-N", "-d", "route", "show", "table", "all")
        parts.say("[]", "ip", "-j", f"-{family}", "-N", "-d", "rule", "show")
    modules = {"mlx5_core": ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs"), "bnxt_en": ("bnxt_en", "bnxt_re")}.get(
        recording.driver, ()
    )
    for module in modules:
        parts.files[f"/sys/module/{module}/srcversion"] = "533BB7E5866E52F63B9ACCB"
        parts.say(
            f"/lib/modules/{recording.kernel}/{recording.origin}/{module}.ko\n", "modinfo", "-F", "filename", module
        )
        parts.say("533BB7E5866E52F63B9ACCB\n", "modinfo", "-F", "srcversion", module)
    parts.commands["grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms"] = CommandOutput("", "", 1)
    if "dkms" in recording.origin:
        parts.say(
            f"mlnx-ofed-kernel, 23.10, {recording.kernel}, x86_64: installed\nnvidia/550.90.07, {recording.kernel}, x86_64: installed\n",
            "dkms",
            "status",
        )


def _gpu_tools(recording: Recording, parts: Parts) -> None:
    count, driver = recording.gpus, "550.90.07"
    if recording.vendor == "NVIDIA":
        parts.files["/proc/driver/nvidia/version"] = (
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Fri May 31 09:35:42 UTC 2024"
        )
        parts.files["/sys/module/nvidia_peermem/version"] = driver
        parts.say("Dual MIT/GPL\n", "modinfo", "-F", "license", "nvidia")
        fields = "index,pci.bus_id,driver_version,persistence_mode,ecc.errors.uncorrected.volatile.total,clocks_event_reasons.active,pcie.link.width.current,pcie.link.width.max,mig.mode.current"
        rows = "".join(
            f"{i}, 0000{at.upper()}, {driver}, Enabled, 0, 0x0000000000000001, 16, 16, Disabled\n"
            for i, at in enumerate(parts.gpus)
        )
        parts.say(rows, "nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")
        parts.say(
            "No, No\n" * count,
            "nvidia-smi",
            "--query-remapped-rows=remapped_rows.pending,remapped_rows.failure",
            "--format=csv,noheader",
        )
        parts.say(
            "".join(f"{i}, 700.00, 700.00\n" for i in range(count)),
            "nvidia-smi",
            "--query-gpu=index,power.limit,power.default_limit",
            "--format=csv,noheader,nounits",
        )
        parts.say(
            "".join(f"{i}, 96.00.89.00.01\n" for i in range(count)),
            "nvidia-smi",
            "--query-gpu=index,vbios_version",
            "--format=csv,noheader",
        )
        fabric = "Completed, Success" if recording.gpu != "L40S" else "[N/A], [N/A]"
        parts.say(
            "".join(f"{i}, {fabric}\n" for i in range(count)),
            "nvidia-smi",
            "--query-gpu=index,fabric.state,fabric.status",
            "--format=csv,noheader",
        )
        parts.say(forms.peer_access(count), "nvidia-smi", "topo", "-p2p", "r")
        links = {"A100": 12, "L40S": 0}.get(recording.gpu, 18)
        parts.say("".join(f"GPU {i}: NVIDIA {recording.gpu} (UUID: GPU-{i:08x})\n" + "".join(f"\t Link {n}: 25 GB/s\n" for n in range(links)) for i in range(count)),
                  "nvidia-smi", "nvlink", "-s")  # fmt: skip
        return
    parts.files["/sys/module/amdgpu/version"] = "6.8.5"
    parts.files["/sys/kernel/mm/memory_peers/amdkfd/version"] = "1.0"
    if "rocm-smi" in recording.tools:
        parts.say(
            forms.rocm(parts.gpus),
            "rocm-smi",
            "--showbus",
            "--showcomputepartition",
            "--showmemorypartition",
            "--showperflevel",
            "--json",
        )
        return
    parts.say(
        json.dumps({"gpu_data": [{"gpu": i, "bdf": at} for i, at in enumerate(parts.gpus)]}),
        "amd-smi",
        "list",
        "--json",
    )
    parts.say(
        json.dumps(
            [
                {
                    "gpu": i,
                    "retired": "No bad pages found.",
                    "pending": "No bad pages found.",
                    "un_res": "No bad pages found.",
                }
                for i in range(count)
            ]
        ),
        "amd-smi",
        "bad-pages",
        "--json",
    )
    parts.say(
        json.dumps(
            [
                {"gpu": i, "link_metrics": {"links": [{"gpu": j, "link_status": "U"} for j in range(count) if j != i]}}
                for i in range(count)
            ]
        ),
        "amd-smi",
        "xgmi",
        "--json",
    )
    parts.say(
        json.dumps([{"gpu": i, "vbios": {"part_number": "113-M3000108-103"}} for i in range(count)]),
        "amd-smi",
        "static",
        "--vbios",
        "--json",
    )
    parts.say(forms.amd_clocks(count), "amd-smi", "metric", "--clock", "--json")
    parts.say(forms.amd_partitions(count), "amd-smi", "static", "--partition", "--json")


_OFED = frozenset({"mlnx_qos", "lldpctl"})

RECORDINGS = (
    Recording("dgx-a100", ("NVIDIA", "DGXA100 920-23687-2530-000"), "A100", 8, "cx6", "enp{}s0", "mlx5_{}", 200, "/24", _OFED, first=12, spare=2, module="sff"),
    Recording("dgx-h100", ("NVIDIA", "DGXH100"), "H100", 8, "cx7", "ens{}np0", "mlx5_{}", 400, "/31", _OFED, first=30, spare=2, kernel="5.15.0-1063-nvidia"),
    Recording("hgx-h200-bluefield", ("Supermicro", "SYS-821GE-TNHR"), "H200", 8, "bf3", "eth{}", "rocep{}s0", 400, "slaac", _OFED, mtu=9216, first=2),
    Recording("xe9680-mi300x-thor2", ("Dell Inc.", "PowerEdge XE9680"), "MI300X", 8, "thor2", "gpu{}_eth", "bnxt_re{}", 400, "/31", frozenset({"niccli", "lldpctl", "amd-smi"})),
    Recording("as8125-mi300x-cx7", ("Supermicro", "AS -8125GS-TNMR2"), "MI300X", 8, "cx7", "enp{}s0np0", "mlx5_{}", 400, "/31", frozenset({"mlnx_qos", "rocm-smi"}), first=9),
    Recording("g893-mi325x-pollara", ("Giga Computing", "G893-ZX1-AAX2"), "MI325X", 8, "pollara", "benic{}p1", "ionic_{}", 400, "/31", frozenset({"amd-smi", "dcb"}), first=1),
    Recording("gb200-tray", ("NVIDIA", "GB200 NVL"), "GB200", 4, "cx7", "enP{}p3s0f0np0", "mlx5_{}", 400, "slaac", _OFED, kernel="6.8.0-1014-nvidia-64k", module="dac"),
    Recording("hgx-b200-cx8", ("Lenovo", "ThinkSystem SR680a V3"), "B200", 8, "cx8", "ens{}f0np0", "mlx5_{}", 800, "/31", _OFED, first=10, kernel="6.8.0-51-generic"),
    Recording("l40s-pcie", ("ASUSTeK COMPUTER INC.", "ESC8000A-E12"), "L40S", 4, "cx6dx", "enp{}s0f0np0", "mlx5_{}", 100, "/24", frozenset({"dcb", "lldpctl"}), first=33,
              kernel="6.8.0-41-generic", module="sff", origin="kernel/drivers/net", priority=3),
    Recording("bm-gpu-h100", ("Oracle", "ORACLE SERVER E5-2c"), "H100", 8, "cx7", "rdma{}", "mlx5_{}", 200, "/24", _OFED, per_gpu=2, spare=1, mtu=4220),
    Recording("bm-gpu-a100", ("Oracle", "ORACLE SERVER E4-2c"), "A100", 8, "cx5", "rdma{}", "mlx5_{}", 100, "/24", _OFED, per_gpu=2, mtu=4220, module="sff", priority=5),
    Recording("h100-inbox", ("HPE", "ProLiant XD685"), "H100", 8, "cx7", "ens{}f1np1", "mlx5_{}", 400, "slaac", frozenset({"dcb"}), first=4,
              kernel="6.1.0-28-amd64", module="dac", origin="kernel/drivers/net"),
)  # fmt: skip
"""All of them."""


@dataclass(frozen=True)
class Change:
    """A fault: the check that it belongs to, and a function that changes a recorded answer.

    The function returns the NIC or other thing that the finding must name, an empty text for the server, or None where the
    recording has no such answer.
    """

    check: str
    change: Callable[[Recording, Parts, Random], str | None] = field(compare=False)
    name: str = ""


FAULTS: list[Change] = []


def _used(recording: Recording, chance: Random) -> tuple[int, str, str]:
    i = chance.randrange(recording.gpus * recording.per_gpu)
    return (i, *recording.names()[i])


def _of_file(check: str, path: str, *values: str) -> None:
    """A file of a NIC has another value. ``{dev}``, ``{pci}`` and ``{port}`` stand for the NIC's folders."""

    def change(recording: Recording, parts: Parts, chance: Random) -> str | None:
        i, net, rdma = _used(recording, chance)
        at = parts.links[f"/sys/class/net/{net}/device"]
        file = path.format(
            dev=f"/sys/class/net/{net}",
            pci=at,
            port=f"/sys/class/infiniband/{rdma}/ports/1",
            irq=400 + 4 * i,
            net=net,
            rdma=rdma,
            address=at.rpartition("/")[2],
        )
        if file not in parts.files:
            return None
        parts.files[file] = chance.choice([value for value in values if value != parts.files[file]])
        return net

    FAULTS.append(Change(check, change, path))


def _of_server(check: str, path: str, *values: str, of: str = "") -> None:
    """A file of the server has another value."""

    def change(recording: Recording, parts: Parts, chance: Random) -> str | None:
        if path not in parts.files or parts.files[path] in values:
            return None
        parts.files[path] = chance.choice(values)
        return of

    FAULTS.append(Change(check, change, path))


def _of_command(check: str, words: str, pattern: str, *by: str, server: bool = False) -> None:
    """A command prints something else. ``words``: the command, with the names of a NIC as in ``_of_file``."""

    def change(recording: Recording, parts: Parts, chance: Random) -> str | None:
        _, net, rdma = _used(recording, chance)
        address = parts.links[f"/sys/class/net/{net}/device"].rpartition("/")[2]
        command = tuple(words.format(net=net, rdma=rdma, address=address).split(" "))
        if command not in parts.commands:
            return None
        out = parts.commands[command].out
        changed = re.sub(pattern.format(address=address, net=net), chance.choice(by), out, count=1, flags=re.MULTILINE)
        if changed == out:
            return None
        parts.commands[command] = CommandOutput(changed)
        return "" if server else net

    FAULTS.append(Change(check, change, words))


def _in_log(check: str, *lines: str, nic: bool = False) -> None:
    """The kernel's log has another line."""

    def change(recording: Recording, parts: Parts, chance: Random) -> str | None:
        _, net, _ = _used(recording, chance)
        address = parts.links[f"/sys/class/net/{net}/device"].rpartition("/")[2]
        line = chance.choice(lines).format(net=net, address=address, gpu=chance.choice(parts.gpus))
        parts.say(f"{parts.commands[_LOG].out}{line}\n", *_LOG)
        return net if nic else ""

    FAULTS.append(Change(check, change, lines[0]))


for _row in (
    ("link-carrier", "{dev}/carrier", "0"),
    ("link-speed", "{dev}/speed", "50000", "25000"),
    ("link-mtu", "{dev}/mtu", "1500", "2048"),
    ("link-flaps", "{dev}/carrier_down_count", "9", "88"),
    ("pcie-speed", "{pci}/current_link_speed", "8.0 GT/s PCIe", "2.5 GT/s PCIe"),
    ("pcie-width", "{pci}/current_link_width", "8", "4", "1"),
    ("pcie-errors", "{pci}/aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1"),
    ("pcie-errors", "{pci}/aer_dev_nonfatal", "CmpltTO 3\nTOTAL_ERR_NONFATAL 3"),
    ("pcie-errors", "{pci}/aer_dev_correctable", "RxErr 50121\nTOTAL_ERR_COR 50121"),
    ("rdma-port", "{port}/state", "1: DOWN", "2: INIT"),
    ("rdma-port", "{port}/link_layer", "InfiniBand"),
    ("rdma-gids", "{port}/gid_attrs/types/3", "IB/RoCE v1"),
    ("rdma-gids", "{port}/gids/3", "0000:0000:0000:0000:0000:0000:0000:0000"),
    ("rdma-gid-order", "{port}/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000"),
    ("counters-lifespan", "{port}/hw_counters/lifespan", "60000"),
    ("share-resends", "{port}/hw_counters/out_of_sequence", "310221"),
    ("share-resends", "{port}/hw_counters/to_retransmits", "310221"),
    ("share-timeouts", "{port}/hw_counters/local_ack_timeout_err", "5120"),
    ("share-receiver", "{port}/hw_counters/rnr_naks_rcvd", "4101202"),
    ("share-receiver", "{port}/hw_counters/out_of_buffer", "4101202"),
    ("share-completions", "{port}/hw_counters/resp_cqe_error", "81003"),
    ("qos-congestion-control", "/sys/kernel/debug/bnxt_re/{address}/cc_config/enable_cc", "0x0"),
    ("qos-congestion-control", "{dev}/ecn/roce_np/enable/3", "0"),
    ("qos-notification", "{dev}/ecn/roce_np/cnp_dscp", "46", "0"),
    ("system-interrupts", "/proc/irq/{irq}/smp_affinity_list", "9"),
    ("nic-numa", "{pci}/numa_node", "-1"),
):
    _of_file(*_row)
for _row in (
    ("system-governor", "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave", "schedutil"),
    ("iommu-mode", "/sys/kernel/iommu_groups/2/type", "DMA", "DMA-FQ"),
    ("system-memlock", "/proc/self/limits", "Max open files            1048576              1048576              files\nMax locked memory         8388608              8388608              bytes"),
    ("system-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
    ("system-memory", "/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       396211056 kB"),
):  # fmt: skip
    _of_server(*_row)
_of_server("system-sysctl", "/proc/sys/kernel/numa_balancing", "1", of="kernel.numa_balancing")
for _row in (
    ("nic-firmware", "ethtool -i {net}", r"^firmware-version: .*", "firmware-version: 26.33.1048"),
    ("nic-driver-version", "ethtool -i {net}", r"^version: .*", "version: 23.10-0.5.5"),
    ("link-fec", "ethtool --show-fec {net}", r"^Active FEC encoding: RS", "Active FEC encoding: Off", "Active FEC encoding: None"),
    ("link-errors", "ethtool -S {net}", r"(rx_pcs_symbol_err(?:_phy)?): 0", r"\g<1>: 5121771"),
    ("link-raw-errors", "ethtool -S {net}", r"(rx_corrected_bits(?:_phy)?): \d+", r"\g<1>: 6100200300400"),
    ("link-module", "ethtool -m {net}", r"(Laser rx power low alarm +\(Channel 2\) +: )Off", r"\g<1>On"),
    ("link-module", "ethtool -m {net}", r"(Module temperature +: )\S+", r"\g<1>78.21"),
    ("rdma-mtu", "ibv_devinfo -d {rdma}", r"active_mtu:\t\t4096 \(5\)", "active_mtu:\t\t1024 (3)"),
    ("qos-trust", "mlnx_qos -i {net}", "trust state: dscp", "trust state: pcp"),
    ("qos-pfc", "mlnx_qos -i {net}", r"^\tenabled .*", "\tenabled     0   0   0   0   0   0   0   0   "),
    ("qos-pfc", "niccli --dev {address} qos --ets --show", r"PFC enabled: .*", "PFC enabled: none"),
    ("qos-pfc", "dcb -j pfc show dev {net}", r'"prio_pfc": \[[^]]*\]', '"prio_pfc": [false, false, false, false, false, false, false, false]'),
    ("qos-dscp", "dcb -j app show dev {net}", r"\[48, 6\]", "[48, 0]"),
    ("qos-dscp", "niccli --dev {address} qos --ets --show", r"DSCP: 48", "DSCP: 46"),
    ("qos-scheduling", "mlnx_qos -i {net}", r"tsa: ets, bw: \d+%", "tsa: strict"),
    ("qos-global-pause", "ethtool -a {net}", r"^RX:\t\toff", "RX:\t\ton"),
    ("nic-flash", "mlxconfig -d {address} query", r"(PCI_WR_ORDERING\s+)\S+", r"\g<1>per_mkey(0)"),
    ("qos-adaptive-routing", "mlxreg -d {address} --reg_name ROCE_ACCL --get", r"(forced_en  \| )0x00000000", r"\g<1>0x00000001"),
):  # fmt: skip
    _of_command(*_row)
_NVIDIA = "nvidia-smi --query-gpu=index,pci.bus_id,driver_version,persistence_mode,ecc.errors.uncorrected.volatile.total,clocks_event_reasons.active,pcie.link.width.current,pcie.link.width.max,mig.mode.current --format=csv,noheader"
for _row in (
    ("pcie-acs", "lspci -D -vvv", r"(ACSCtl:\tSrcValid)-", r"\g<1>+"),
    ("pcie-acs", "lspci -D -vvv", r"(ACSCtl:.*ReqRedir)-", r"\g<1>+"),
    ("host-firewall", "iptables-legacy -S", "-P INPUT ACCEPT", "-P INPUT DROP"),
    ("host-traffic-control", "tc -j qdisc show", '"mq"', '"netem"', '"tbf"'),
    ("system-time", "timedatectl show -p NTPSynchronized --value", "yes", "no"),
    ("system-disk", "df -Pk /var/log", "821675000      11%", "310000      99%"),
    ("gpu-count", _NVIDIA, r"^1, .*\n", ""),
    ("gpu-persistence", _NVIDIA, "Enabled", "Disabled"),
    ("gpu-memory-errors", _NVIDIA, "Enabled, 0,", "Enabled, 4,"),
    ("gpu-clocks", _NVIDIA, "0x0000000000000001", "0x0000000000000048", "0x0000000000000080"),
    ("gpu-partition", _NVIDIA, r"Disabled$", "Enabled"),
    ("gpu-links", "nvidia-smi nvlink -s", r"Link 3: 25 GB/s", "Link 3: <inactive>"),
    ("gpu-peer-access", "nvidia-smi topo -p2p r", "\tOK", "\tCNS"),
    ("gpu-fabric", "nvidia-smi --query-gpu=index,fabric.state,fabric.status --format=csv,noheader", "Completed, Success", "In Progress, N/A"),
    ("gpu-vbios", "nvidia-smi --query-gpu=index,vbios_version --format=csv,noheader", r"96\.00\.89\.00\.01", "96.00.61.00.02"),
    ("gpu-count", "amd-smi list --json", r'\{{"gpu": 3, [^}}]*\}}, ', ""),
    ("gpu-links", "amd-smi xgmi --json", '"link_status": "U"', '"link_status": "D"'),
    ("gpu-partition", "amd-smi static --partition --json", '"SPX"', '"CPX"'),
    ("gpu-clocks", "amd-smi metric --clock --json", '"DISABLED"', '"ENABLED"'),
    ("gpu-clocks", "rocm-smi --showbus --showcomputepartition --showmemorypartition --showperflevel --json", '"auto"', '"manual"'),
    ("driver-dkms", "dkms status", r"(nvidia/[\d.]+), [^,]+,", r"\g<1>, 5.15.0-25-generic,"),
):  # fmt: skip
    _of_command(*_row, server=True)
_in_log(
    "log-nic",
    "mlx5_core {address}: wait_func:1151:(pid 812): CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource",
    "NETDEV WATCHDOG: {net} (mlx5_core): transmit queue 4 timed out",
)
_in_log(
    "log-xid",
    "NVRM: Xid (PCI:{gpu}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:{gpu}): 48, pid=31337, An uncorrectable double bit error (DBE) has been detected on GPU",
)
_in_log("log-gpu", "amdgpu {gpu}: amdgpu: GPU reset begin!", "NVRM: GPU {gpu}: GPU has fallen off the bus.")
_in_log(
    "log-pcie",
    "pcieport {address}: AER: Uncorrected (Fatal) error received: {address}",
    "{address}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
)
_in_log(
    "log-memory", "mce: [Hardware Error]: Machine check events logged", "Out of memory: Killed process 4242 (python3)"
)
_in_log("log-link", "mlx5_core {address} {net}: Link down", nic=True)
_in_log("log-addresses", "IPv6: {net}: IPv6 duplicate address fc00::1 used by 02:00:00:00:00:09 detected!")


def drawn(count: int, seed: int) -> list[str]:
    """Draw faults over all machines, and return those that the check they belong to does not report at the right thing."""
    chance, missed, made = Random(seed), list[str](), 0  # noqa: S311 - a draw that can be repeated
    while made < count:
        recording, fault = chance.choice(RECORDINGS), chance.choice(FAULTS)
        parts = recording.parts()
        of = fault.change(recording, parts, chance)
        if of is None:
            continue
        made += 1
        results = running.run(discovery.discovered(Written(parts)), [ALL[fault.check]])
        bad = [one.outcome.of for one in results if one.outcome.verdict in {FAILED, WARNING}]
        if not any(of in {"", name} for name in bad):
            missed.append(f"{fault.check} ({fault.name[:60]}) on {recording.name} {of}")
    return missed


if __name__ == "__main__":
    for _seed in map(int, sys.argv[1:]):
        _missed = drawn(100, _seed)
        print(f"seed {_seed}: {100 - len(_missed)} of 100 found", *_missed, sep="\n  ")
