"""Servers that are written, not found: healthy ones in the forms that public documents show, built from a ``host.json``.

``healthy`` gives the files and commands of a machine on which every check passes; a test changes one thing and looks at who
says so. ``forms`` has what tools print, ``samples`` the machines that stand for known kinds of servers and troubles; README.md
says which public pages show these forms.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from railweave.host.machine import CommandOutput, Machine
from tests.host.machines import forms


@dataclass
class Parts:
    """What a machine is made of: files by path, folders' links, what commands print; where its GPUs are on the bus."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    commands: dict[tuple[str, ...], CommandOutput] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)

    def say(self, out: str, *words: str) -> None:
        """A command prints this."""
        self.commands[words] = CommandOutput(out)


class Written(Machine):
    """A machine of parts."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.parts = parts
        self.root_user = True
        self.now = 1_795_000_000.0

    def has(self, tool: str) -> bool:
        return any(words[0] == tool for words in self.parts.commands)

    def _text(self, path: str) -> str | None:
        text = self.parts.files.get(self._follow(path))
        return None if text is None else text.strip()

    def _names(self, folder: str) -> list[str]:
        at = self._follow(folder).rstrip("/") + "/"
        there = [*self.parts.files, *self.parts.links]
        return sorted({one[len(at) :].split("/")[0] for one in there if one.startswith(at)})

    def _real(self, path: str) -> str | None:
        real = self._follow(path)
        there = [*self.parts.files, *self.parts.links, *self.parts.links.values()]
        return real if any(one == real or one.startswith(real + "/") for one in there) else None

    def _follow(self, path: str) -> str:
        for _ in range(8):
            link = next((one for one in self.parts.links if path == one or path.startswith(one + "/")), None)
            if link is None:
                break
            path = self.parts.links[link] + path[len(link) :]
        return path

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        return self.parts.commands.get(
            words, CommandOutput("", missing=not self.has(words[0]), code=1, err="not recorded")
        )


@dataclass(frozen=True)
class Places:
    """The PCI buses of GPUs and NICs, pair by pair; two bridges above each pair have the buses before it."""

    gpus: tuple[int, ...] = tuple(16 * i + 23 for i in range(14))
    nics: tuple[int, ...] = tuple(16 * i + 24 for i in range(14))

    def chain(self, i: int) -> list[str]:
        """The bridges above the i-th pair."""
        first = min(self.gpus[i], self.nics[i])
        return [f"0000:{first - 2:02x}:01.0", f"0000:{first - 1:02x}:00.0"]


def healthy(plan: dict[str, Any], *, vendor_tools: bool = True, places: Places | None = None) -> Parts:
    """A machine as ``plan`` (a ``host.json``) wants it; without the vendor's tools what distributions carry is there.

    A machine is written once for each plan, and each caller gets a copy to change.
    """
    parts = _healthy(json.dumps(plan), vendor_tools, places or Places())
    return Parts(dict(parts.files), dict(parts.links), dict(parts.commands), list(parts.gpus))


@lru_cache(64)
def _healthy(text: str, vendor_tools: bool, places: Places) -> Parts:
    parts, plan = Parts(), json.loads(text)
    gpus = plan["gpu"]["count"]
    parts.gpus = [f"0000:{places.gpus[i]:02x}:00.0" for i in range(gpus)]
    chains = [places.chain(i) for i in range(max(gpus, len(plan["nics"])))]
    _system(parts, plan)
    for i in range(gpus):
        _gpu(parts, plan["gpu"]["vendor"], i, chains[i])
    for i, nic in enumerate(plan["nics"]):
        at = f"{_under(chains[nic['gpu'] if nic['gpu'] is not None else i])}/0000:{places.nics[i]:02x}:00.0"
        _nic(parts, plan, nic, i, at, vendor_tools=vendor_tools)
    _pci(parts, plan, chains)
    _kernel(parts, plan)
    _gpu_tools(parts, plan)
    parts.say(forms.lldp(plan), "lldpctl", "-f", "json0")
    return parts


def option(nic: dict[str, Any], address: str, name: str) -> tuple[str, ...]:
    """How niccli is asked for an option: one of a function with the function's number."""
    scope = ("--scope", address[-1]) if name in nic.get("firmware_per_function", ()) else ()
    return ("niccli", "--dev", address, "nvm", "--getoption", name, *scope)


def ping(netdev: str, gateway: str, size: int) -> tuple[str, ...]:
    """How a gateway is asked for a packet of this size back."""
    data = size - (48 if ":" in gateway else 28)
    return ("ping", "-c", "1", "-W", "1", "-M", "do", "-s", str(data), "-I", netdev, gateway)


def pci_of(parts: Parts, netdev: str) -> str:
    """Where a NIC is on the bus."""
    return parts.links[f"/sys/class/net/{netdev}/device"].rpartition("/")[2]


def address_of(one: dict[str, Any]) -> str:
    """The address of a path; where it follows from a MAC that is not known yet, some address of its prefix."""
    return one["address"] or str(ipaddress.ip_network(one["prefix"])[0xFFFE00])


def _under(chain: list[str]) -> str:
    return "/sys/devices/pci0000:" + chain[0][5:7] + "/" + "/".join(chain)


def _gpu(parts: Parts, vendor: str, i: int, chain: list[str]) -> None:
    at = f"{_under(chain)}/{parts.gpus[i]}"
    parts.links[f"/sys/bus/pci/devices/{parts.gpus[i]}"] = at
    ids = {"NVIDIA": ("0x10de", "0x030200"), "AMD": ("0x1002", "0x120000")}[vendor]
    parts.files.update({f"{at}/vendor": ids[0], f"{at}/class": ids[1], f"{at}/numa_node": str(i // 4)})
    parts.files.update({f"{at}/current_link_width": "16", f"{at}/max_link_width": "16"})
    first = 0x3800_0000_0000 + (i << 38)  # a window of 128 GiB, one of 32 MiB, and one that is not used
    regions = [(first, 128 << 30), (first + (130 << 30), 32 << 20)]
    parts.files[f"{at}/resource"] = "\n".join(
        [f"0x{at:016x} 0x{at + size - 1:016x} 0x000000000014220c" for at, size in regions]
        + ["0x" + "0" * 16 + (" 0x" + "0" * 16) * 2]
    )


def _nic(parts: Parts, plan: dict[str, Any], nic: dict[str, Any], i: int, at: str, *, vendor_tools: bool) -> None:
    address, dev, rdma = at.rpartition("/")[2], nic["netdev"], nic["rdma"]
    net = f"/sys/class/net/{dev}"
    parts.links[f"{net}/device"] = at
    parts.links[f"/sys/class/infiniband/{rdma}/device"] = at
    parts.links[f"{at}/driver"] = f"/sys/bus/pci/drivers/{nic['driver']}"
    parts.links[f"/sys/bus/pci/devices/{address}"] = at
    gpu = nic["gpu"] if nic["gpu"] is not None else i
    generation = "32.0 GT/s PCIe" if nic["speed_gbps"] <= 400 else "64.0 GT/s PCIe"
    parts.files.update({
        f"{at}/vendor": "0x15b3", f"{at}/class": "0x020000", f"{at}/numa_node": str(gpu // 4),
        f"{at}/current_link_speed": generation, f"{at}/max_link_speed": generation,
        f"{at}/current_link_width": "16", f"{at}/max_link_width": "16",
        **{f"{at}/aer_dev_{kind}": f"Undefined 0\nTOTAL_ERR_{name} 0" for kind, name in
           (("fatal", "FATAL"), ("nonfatal", "NONFATAL"), ("correctable", "COR"))},
        f"{net}/address": nic["mac"] or f"02:00:00:00:00:{i:02x}", f"{net}/mtu": str(nic["mtu"]), f"{net}/carrier": "1",
        f"{at}/local_cpulist": f"{gpu // 4 * 2}-{gpu // 4 * 2 + 1}",
        **{f"{at}/msi_irqs/{200 + 10 * i + one}": "msix" for one in range(3)},
        **{f"/proc/irq/{200 + 10 * i + one}/smp_affinity_list": str(gpu // 4 * 2 + one % 2) for one in range(3)},
        f"{net}/flags": "0x1003", f"{net}/speed": str(nic["speed_gbps"] * 1000), f"{net}/carrier_down_count": "1",
    })  # fmt: skip
    parts.say(f"driver: {nic['driver']}\nversion: 24.10-1.1.4\nfirmware-version: 28.43.2026 (MT_0000000838)\n"
              f"expansion-rom-version: \nbus-info: {address}\n", "ethtool", "-i", dev)  # fmt: skip
    parts.say(f"FEC parameters for {dev}:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n",
              "ethtool", "--show-fec", dev)  # fmt: skip
    parts.say(f"Pause parameters for {dev}:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n", "ethtool", "-a", dev)
    parts.say(forms.module(nm=sum(nic.get("wavelength_nm", (1310, 1310))) / 2), "ethtool", "-m", dev)
    priority = plan["fabrics"][nic["fabric"]]["roce"]["priority"]
    parts.say(forms.counters(nic["driver"], priority), "ethtool", "-S", dev)
    for gateway in sorted({one["via"] for one in plan["routes"] if one["dev"] == dev and "via" in one}):
        data = nic["mtu"] - (48 if ":" in gateway else 28)
        parts.say(forms.ping(gateway, data), *ping(dev, gateway, nic["mtu"]))
    _rdma(parts, nic)
    _qos(parts, plan, nic, address, vendor_tools=vendor_tools)
    parts.files[f"{net}/ifindex"] = str(i + 3)
    if not (nic["slaac"] and plan["router_advertisements"] == "kernel"):
        file = f"/run/systemd/network/10-netplan-{dev}.network"
        parts.files[f"/run/systemd/netif/links/{i + 3}"] = f"ADMIN_STATE=configured\nNETWORK_FILE={file}\n"
        parts.files[file] = f"[Match]\nName={dev}\n\n[Network]\nConfigureWithoutCarrier=yes\n"
    folder = f"/proc/sys/net/ipv6/conf/{dev}"
    kernel = nic["slaac"] and plan["router_advertisements"] == "kernel"
    parts.files.update({f"{folder}/accept_ra": "1" if kernel else "0", f"{folder}/forwarding": "0"})
    parts.files[f"{folder}/disable_ipv6"] = "0"
    for name, value in (("arp_ignore", "2"), ("arp_announce", "1"), ("rp_filter", "2")):
        parts.files[f"/proc/sys/net/ipv4/conf/{dev}/{name}"] = value


def _rdma(parts: Parts, nic: dict[str, Any]) -> None:
    port = f"/sys/class/infiniband/{nic['rdma']}/ports/{nic['rdma_port']}"
    parts.files.update(
        {f"{port}/state": "4: ACTIVE", f"{port}/phys_state": "5: LinkUp", f"{port}/link_layer": "Ethernet"}
    )
    entries = [("fe80::1", "RoCE v2")]
    for one in nic["addresses"]:
        entries += [(address_of(one), "IB/RoCE v1"), (address_of(one), "RoCE v2")]
    for index, (gid, kind) in enumerate(entries):
        value = ipaddress.ip_address(gid)
        full = value if value.version == 6 else ipaddress.IPv6Address(f"::ffff:{value}")
        parts.files[f"{port}/gids/{index}"] = full.exploded
        parts.files[f"{port}/gid_attrs/types/{index}"] = kind
        parts.files[f"{port}/gid_attrs/ndevs/{index}"] = nic["netdev"]
    parts.files[f"{port}/gids/{len(entries)}"] = "0000:0000:0000:0000:0000:0000:0000:0000"
    if nic["driver"] == "bnxt_en":
        names = ("rx_roce_discards", "rx_roce_errors", "oos_drop_count", "seq_err_naks_rcvd", "missing_resp", "to_retransmits",
                 "max_retry_exceeded", "remote_access_err", "remote_op_err", "tx_roce_discards", "rnr_naks_rcvd", "rx_out_of_buffer", "rx_ecn_marked_pkts", "tx_cnp_pkts", "rx_cnp_pkts")  # fmt: skip
    else:
        names = ("out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer",
                 "rnr_nak_retry_err", "req_rnr_retries_exceeded", "roce_adp_retrans", "rp_cnp_ignored", "rp_cnp_handled",
                 "np_ecn_marked_roce_packets", "np_cnp_sent", "resp_cqe_error", "req_cqe_error", "roce_slow_restart")  # fmt: skip
    parts.files.update({f"{port}/hw_counters/{name}": "17" for name in names})
    parts.files[f"{port}/hw_counters/lifespan"] = "10"
    sent = "hw_counters/tx_pkts" if nic["driver"] == "bnxt_en" else "counters/port_xmit_packets"
    parts.files[f"{port}/{sent}"] = "81324077193"
    if nic["driver"] != "bnxt_en":
        parts.files[f"{port}/counters/port_xmit_discards"] = "0"
    parts.files[f"/sys/class/infiniband_verbs/uverbs{nic['rdma']}/ibdev"] = nic["rdma"]
    parts.say(forms.devinfo(nic["rdma"], nic["rdma_port"], nic["driver"]), "ibv_devinfo", "-d", nic["rdma"])


def _qos(parts: Parts, plan: dict[str, Any], nic: dict[str, Any], address: str, *, vendor_tools: bool) -> None:
    fabric, dev = plan["fabrics"][nic["fabric"]], nic["netdev"]
    roce = fabric["roce"]
    if nic["driver"] == "mlx5_core":
        _mlx5_settings(parts, nic, address, fabric)
        if vendor_tools:
            parts.say(forms.mlnx_qos(fabric, nic.get("cable_m", 7)), "mlnx_qos", "-i", dev)
    if nic["driver"] == "bnxt_en":
        for path, settings in plan["driver_files"].items():
            parts.files[path] = "".join(f"{key}={value}\n" for key, value in settings.items())
        marked = roce["ecn"] or any(one["ecn"] for one in fabric.get("other_lossless", {}).values())
        parts.files[f"/sys/kernel/debug/bnxt_re/{address}/cc_config/enable_cc"] = str(int(marked))
        for name, value in nic["firmware"].items():
            parts.say(f"{name} = {value}\n", *option(nic, address, name))
        if vendor_tools:
            parts.say(forms.niccli(fabric), "niccli", "--dev", address, "qos", "--ets", "--show")
    delay = max(nic.get("cable_m", 7), 7) if nic["driver"] == "mlx5_core" else 0
    classes, shares, paused = forms.classes(fabric), forms.shares(fabric), forms.lossless(fabric)
    parts.say(json.dumps({"pfc_cap": 8, "macsec_bypass": False, "delay": delay, "prio_pfc": [one in paused for one in range(8)]}),
              "dcb", "-j", "pfc", "show", "dev", dev)  # fmt: skip
    parts.say(json.dumps({"dscp_prio": [[dscp, one] for dscp, one in forms.dscps(fabric).items()]}),
              "dcb", "-j", "app", "show", "dev", dev)  # fmt: skip
    parts.say(json.dumps({"willing": False, "ets_cap": 8, "cbs": False, "tc_bw": shares,
                          "tc_tsa": ["ets", "ets", *("ets" if one else "strict" for one in shares[2:])], "prio_tc": classes}),
              "dcb", "-j", "ets", "show", "dev", dev)  # fmt: skip


def _mlx5_settings(parts: Parts, nic: dict[str, Any], address: str, fabric: dict[str, Any]) -> None:
    ecn = f"/sys/class/net/{nic['netdev']}/ecn"
    roce, cnp = fabric["roce"], fabric["cnp"]
    others = fabric.get("other_lossless", {}).values()
    for side in ("roce_np", "roce_rp"):
        for one in (roce, *others):
            parts.files[f"{ecn}/{side}/enable/{one['priority']}"] = str(int(one["ecn"]))
    parts.files[f"{ecn}/roce_np/cnp_dscp"] = str(cnp["dscp"])
    parts.files[f"{ecn}/roce_np/cnp_802p_prio"] = str(cnp["priority"])
    port = f"/sys/class/infiniband/{nic['rdma']}/tc/{nic['rdma_port']}"
    parts.files[f"{port}/traffic_class"] = "" if others else f"Global tclass={roce['traffic_class']}"
    settings = "".join(f"         {name:<40} {_shown(name, value)}\n" for name, value in nic["firmware"].items())
    parts.say(f"Device #1:\n----------\nDevice type:        ConnectX7\nDevice:             {address}\n\n"
              f"Configurations:                              Next Boot\n{settings}", "mlxconfig", "-d", address, "query")  # fmt: skip
    on = "0x00000001" if roce["adaptive_routing"] else "0x00000000"
    parts.say("Field Name                              | Data\n====================================================\n"
              f"roce_adp_retrans_en                     | 0x00000001\nadaptive_routing_forced_en              | {on}\n",
              "mlxreg", "-d", address, "--reg_name", "ROCE_ACCL", "--get")  # fmt: skip


def _shown(name: str, value: str) -> str:
    """As mlxconfig prints a value: with a word before the number where it has one."""
    if name.startswith("LINK_TYPE"):
        return f"ETH({value})"
    return f"{'True' if value == '1' else 'False'}({value})" if value in {"0", "1"} else value


def _pci(parts: Parts, plan: dict[str, Any], chains: list[list[str]]) -> None:
    blocks = {one: forms.lspci_bridge(one) for chain in chains for one in chain}
    for nic in plan["nics"]:
        blocks[pci_of(parts, nic["netdev"])] = forms.lspci_nic(pci_of(parts, nic["netdev"]), nic["driver"])
    parts.say("\n".join(block for _, block in sorted(blocks.items())), "lspci", "-D", "-vvv")


def _system(parts: Parts, plan: dict[str, Any]) -> None:
    versions = plan.get("versions", {})
    release = versions.get("kernel", "6.8.0-60-generic")
    parts.files.update({
        "/proc/sys/kernel/osrelease": release,
        "/proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro {' '.join(plan['kernel_command_line'])} quiet",
        "/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
                             "Max open files            1048576              1048576              files\n"
                             "Max locked memory         unlimited            unlimited            bytes",
        "/proc/self/mounts": "sysfs /sys sysfs rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0",
        "/proc/meminfo": "MemTotal:       2113376136 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "/sys/devices/system/cpu/smt/active": "1",
        **{f"/sys/kernel/iommu_groups/{i}/type": "identity" for i in range(12)},
    })  # fmt: skip
    for node in range(2):
        parts.files[f"/sys/devices/system/node/node{node}/cpulist"] = f"{node * 2}-{node * 2 + 1}"
        parts.files[f"/sys/devices/system/node/node{node}/meminfo"] = (
            f"Node {node} MemTotal:       {1056688068 - node * 40960} kB"
        )
    for cpu in range(4):
        folder = f"/sys/devices/system/cpu/cpu{cpu}"
        parts.files[f"{folder}/cpufreq/scaling_governor"] = "performance"
        parts.files[f"{folder}/topology/physical_package_id"] = str(cpu // 2)
    for number, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C2", 100))):
        folder = f"/sys/devices/system/cpu/cpu0/cpuidle/state{number}"
        parts.files.update(
            {f"{folder}/name": name, f"{folder}/latency": str(latency), f"{folder}/disable": str(int(latency > 50))}
        )
    for name, value in (("arp_ignore", "0"), ("arp_announce", "0"), ("rp_filter", "0")):
        parts.files[f"/proc/sys/net/ipv4/conf/all/{name}"] = value
    parts.files.update({f"/proc/sys/{name.replace('.', '/')}": value for name, value in plan["sysctl"].items()})
    parts.say("yes\n", "timedatectl", "show", "-p", "NTPSynchronized", "--value")
    parts.say(forms.CHRONY.format(0.000021), "chronyc", "-c", "tracking")
    parts.say("-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n", "iptables-legacy", "-S")
    parts.say("Filesystem     1024-blocks      Used Available Capacity Mounted on\n/dev/sda2        459923416 41231020 395254956      10% /\n",
              "df", "-Pk", "/var/log")  # fmt: skip
    parts.say("[    0.000000] Linux version\n[   12.1] mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged\n",
              "journalctl", "-k", "-b", "-o", "cat", "--no-pager")  # fmt: skip
    parts.say(forms.dmidecode_mapped([1 + module % 8 for module in range(16)]), "dmidecode", "-t", "20")
    parts.say(json.dumps({"nftables": [{"metainfo": {"version": "1.0.9"}}]}), "nft", "-j", "list", "ruleset")
    parts.say(json.dumps([{"kind": "mq", "handle": "0:", "dev": nic["netdev"], "root": True} for nic in plan["nics"]]),
              "tc", "-j", "qdisc", "show")  # fmt: skip
    stacks = {"mlx5_core": ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs"), "bnxt_en": ("bnxt_en", "bnxt_re")}
    for module in dict.fromkeys(m for nic in plan["nics"] for m in stacks.get(nic["driver"], ())):
        parts.files[f"/sys/module/{module}/srcversion"] = "A1B2C3D4E5F60718293A4B5"
        parts.say(f"/lib/modules/{release}/updates/dkms/{module}.ko.zst\n", "modinfo", "-F", "filename", module)
        parts.say("A1B2C3D4E5F60718293A4B5\n", "modinfo", "-F", "srcversion", module)
    parts.say("ffffffffc0a1b2c0 T ib_register_peer_memory_client\t[ib_uverbs]\n",
              "grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms")  # fmt: skip
    parts.say(f"mlnx-ofed-kernel/24.10, {release}, x86_64: installed\n", "dkms", "status")
    plugin = "/usr/local/lib/libnccl-net-railweave.so"
    library = "librccl.so.1.0.60300" if plan["job"]["library"] == "RCCL" else "libnccl.so.2.27.3"
    parts.files[plugin] = parts.files[f"/usr/local/lib/{library}"] = ""
    parts.say("\tlibibverbs.so.1 => /lib/x86_64-linux-gnu/libibverbs.so.1 (0x00007f1e5a)\n", "ldd", plugin)


def _kernel(parts: Parts, plan: dict[str, Any]) -> None:
    """Addresses, routes and rules, as ``ip -j -N -d`` prints them."""
    links: list[dict[str, Any]] = []
    for nic in plan["nics"]:
        shown = [{"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"}]
        for one in nic["addresses"]:
            version = ipaddress.ip_address(address_of(one)).version
            length = ipaddress.ip_network(one["prefix"]).prefixlen
            shown.append({"family": "inet" if version == 4 else "inet6", "local": address_of(one), "prefixlen": length})
        links.append({"ifname": nic["netdev"], "flags": ["UP", "LOWER_UP"], "mtu": nic["mtu"], "addr_info": shown})
    parts.say(json.dumps(links), "ip", "-j", "addr", "show")
    parts.say("[]", "ip", "-j", "neigh", "show", "nud", "permanent")
    routes: dict[int, list[dict[str, Any]]] = {4: [], 6: []}
    rules: dict[int, list[dict[str, Any]]] = {4: [], 6: []}
    for one in plan["routes"]:
        family = 6 if ":" in one.get("via", one["to"]) else 4
        route: dict[str, Any] = {
            "type": "unicast",
            "dst": one["to"],
            "dev": one["dev"],
            "table": str(one["table"]),
            "protocol": "4",
            "scope": "0",
            "flags": [],
        }
        if "via" in one:
            route["gateway"] = one["via"]
        if family == 6:
            route.update({"metric": 1024, "pref": "medium"})
        routes[family].append(route)
    for priority, one in enumerate(plan["rules"], 100):
        end = ipaddress.ip_interface(one.get("from") or one["to"])
        rule: dict[str, Any] = {
            "priority": one.get("priority", priority),
            "src": "all",
            "table": str(one["table"]),
            "protocol": "4",
        }
        for key, name in (("from", "src"), ("to", "dst")):
            if key in one:
                net = ipaddress.ip_interface(one[key])  # the kernel keeps host bits
                rule[name] = str(net.ip)
                if net.network.prefixlen != net.max_prefixlen:
                    rule[f"{name}len"] = net.network.prefixlen
        rules[end.version].append(rule)
    for family in (4, 6):
        parts.say(json.dumps(routes[family]), "ip", "-j", f"-{family}", "-N", "-d", "route", "show", "table", "all")
        parts.say(json.dumps(rules[family]), "ip", "-j", f"-{family}", "-N", "-d", "rule", "show")


def _gpu_tools(parts: Parts, plan: dict[str, Any]) -> None:
    count, vendor = plan["gpu"]["count"], plan["gpu"]["vendor"]
    driver = plan.get("versions", {}).get("gpu_driver")
    if vendor == "NVIDIA":
        driver = driver or "570.133.20"
        parts.files["/proc/driver/nvidia/version"] = (
            f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build  (root@buildd)\nGCC version: gcc 12.3.0"
        )
        parts.files["/sys/module/nvidia_peermem/version"] = driver
        parts.say("Dual MIT/GPL\n", "modinfo", "-F", "license", "nvidia")
        fields = ("index,pci.bus_id,driver_version,persistence_mode,ecc.errors.uncorrected.volatile.total,"
                  "clocks_event_reasons.active,pcie.link.width.current,pcie.link.width.max,mig.mode.current")  # fmt: skip
        rows = [
            f"{i}, 0000{at.upper()}, {driver}, Enabled, 0, 0x0000000000000001, 16, 16, Disabled\n"
            for i, at in enumerate(parts.gpus)
        ]
        parts.say("".join(rows), "nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")
        parts.say(
            "No, No\n" * count,
            "nvidia-smi",
            "--query-remapped-rows=remapped_rows.pending,remapped_rows.failure",
            "--format=csv,noheader",
        )
        power = "".join(f"{i}, 700.00, 700.00\n" for i in range(count))
        parts.say(
            power, "nvidia-smi", "--query-gpu=index,power.limit,power.default_limit", "--format=csv,noheader,nounits"
        )
        vbios = "".join(f"{i}, 96.00.A5.00.01\n" for i in range(count))
        parts.say(vbios, "nvidia-smi", "--query-gpu=index,vbios_version", "--format=csv,noheader")
        joined = "".join(f"{i}, Completed, Success\n" for i in range(count))
        parts.say(joined, "nvidia-smi", "--query-gpu=index,fabric.state,fabric.status", "--format=csv,noheader")
        parts.say(forms.peer_access(count), "nvidia-smi", "topo", "-p2p", "r")
        if plan["gpu"].get("domain"):
            parts.say(forms.fabric(count), "nvidia-smi", "-q")
            parts.say("READY\n", "nvidia-imex-ctl", "-q")
        name = f"NVIDIA {plan['gpu']['model'] or 'H100'} 80GB HBM3"
        links = 12 if "A100" in name else 18
        blocks = [
            f"GPU {i}: {name} (UUID: GPU-{i:08d})\n" + "".join(f"\t Link {n}: 26.562 GB/s\n" for n in range(links))
            for i in range(count)
        ]
        parts.say("".join(blocks), "nvidia-smi", "nvlink", "-s")
    elif vendor == "AMD":
        parts.files["/sys/module/amdgpu/version"] = driver or "6.12.12"
        parts.files["/sys/kernel/mm/memory_peers/amdkfd/version"] = "1.0"
        board = {"name": "AMD MI300X_HW", "part_number": "113-M3000100-102", "version": "022.040.003.042.000001"}
        parts.say(
            json.dumps([{"gpu": i, "vbios": board} for i in range(count)]), "amd-smi", "static", "--vbios", "--json"
        )
        parts.say(json.dumps([{"gpu": i, "bdf": at} for i, at in enumerate(parts.gpus)]), "amd-smi", "list", "--json")
        parts.say(json.dumps([{"gpu": i, "retired": "No bad pages found.", "pending": "No bad pages found.", "un_res": "No bad pages found."} for i in range(count)]),
                  "amd-smi", "bad-pages", "--json")  # fmt: skip
        rows = [{"gpu": i, "links": [{"gpu": j, "status": "U"} for j in range(count) if j != i]} for i in range(count)]
        parts.say(json.dumps(rows), "amd-smi", "xgmi", "--json")
        parts.say(forms.amd_clocks(len(parts.gpus)), "amd-smi", "metric", "--clock", "--json")
        parts.say(forms.amd_partitions(len(parts.gpus)), "amd-smi", "static", "--partition", "--json")
