"""Faults of a server, one for each value that a check reads: each changes a healthy machine, and names who must say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from railweave.host.machine import CommandOutput
from tests.host.machines import Parts, forms, option, pci_of, ping

Plan = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """``check`` must fail or warn; ``spoil`` changes the machine and gives the thing it is about, None where it has no such thing."""

    check: str
    name: str
    spoil: Callable[[Parts, Plan, Random], str | None]
    later: bool = False
    """The fault is in what happens after an earlier look."""


FAULTS: list[Fault] = []


def fault(
    check: str, *, later: bool = False
) -> Callable[[Callable[[Parts, Plan, Random], str | None]], Callable[..., str | None]]:
    """Enter a fault of this check."""

    def enter(spoil: Callable[[Parts, Plan, Random], str | None]) -> Callable[..., str | None]:
        FAULTS.append(Fault(check, spoil.__name__, spoil, later))
        return spoil

    return enter


def _nic(plan: Plan, chance: Random, driver: str = "") -> dict[str, Any] | None:
    there = [one for one in plan["nics"] if driver in {"", one["driver"]}]
    return chance.choice(there) if there else None


def _edit(parts: Parts, words: tuple[str, ...], pattern: str, by: str, times: int = 1) -> None:
    """Change what a command prints; it must have printed that."""
    out = parts.commands[words].out
    changed = re.sub(pattern, by, out, count=times, flags=re.MULTILINE)
    assert changed != out, (words, pattern)
    parts.commands[words] = CommandOutput(changed)


def _file(check: str, name: str, path: str, values: tuple[str, ...], driver: str = "") -> None:
    """A fault of a file of a NIC: ``{net}``, ``{rdma}``, ``{port}``, ``{pci}``, ``{roce}`` and ``{dev}`` stand for its own."""

    def spoil(parts: Parts, plan: Plan, chance: Random) -> str | None:
        nic = _nic(plan, chance, driver)
        if nic is None or not _applies(check, nic):
            return None
        at = path.format(
            dev=nic["netdev"], net=f"/sys/class/net/{nic['netdev']}", rdma=f"/sys/class/infiniband/{nic['rdma']}",
            port=f"/sys/class/infiniband/{nic['rdma']}/ports/{nic['rdma_port']}", pci=pci_of(parts, nic["netdev"]),
            roce=plan["fabrics"][nic["fabric"]]["roce"]["priority"], at=parts.links[f"/sys/class/net/{nic['netdev']}/device"],
        )  # fmt: skip
        if at not in parts.files:
            return None
        others = [one for one in values if one != parts.files[at]]
        if not others:
            return None  # it is planned so here
        parts.files[at] = chance.choice(others)
        return str(nic["netdev"])

    FAULTS.append(Fault(check, name, spoil))


def _applies(check: str, nic: dict[str, Any]) -> bool:
    """Whether the check has anything to compare with on this NIC."""
    families = {4 if "." in one["prefix"] else 6 for one in nic["addresses"]}
    wants = {"nic-mac": nic["mac"] is not None, "host-arp": 4 in families, "host-router-advertisements": 6 in families}
    return wants.get(check, True)


for _row in (
    ("nic-mac", "another MAC address", "{net}/address", ("02:00:5e:10:00:07", "b8:3f:d2:00:00:01")),
    ("link-mtu", "another MTU", "{net}/mtu", ("1500", "4200", "9216")),
    ("link-speed", "half the speed", "{net}/speed", ("200000", "100000", "25000")),
    ("link-carrier", "no carrier", "{net}/carrier", ("0",)),
    ("link-flaps", "many flaps", "{net}/carrier_down_count", ("7", "312")),
    (
        "pcie-speed",
        "a slower PCIe generation",
        "{at}/current_link_speed",
        ("16.0 GT/s PCIe", "8.0 GT/s PCIe", "2.5 GT/s PCIe"),
    ),
    ("pcie-width", "fewer lanes", "{at}/current_link_width", ("8", "4", "1")),
    ("pcie-errors", "fatal PCIe errors", "{at}/aer_dev_fatal", ("Undefined 0\nTOTAL_ERR_FATAL 2",)),
    ("pcie-errors", "non-fatal PCIe errors", "{at}/aer_dev_nonfatal", ("TLP 4\nTOTAL_ERR_NONFATAL 4",)),
    ("pcie-errors", "many corrected PCIe errors", "{at}/aer_dev_correctable", ("BadTLP 90210\nTOTAL_ERR_COR 90210",)),
    ("nic-numa", "no NUMA node", "{at}/numa_node", ("-1",)),
    ("rdma-port", "an RDMA port that is down", "{port}/state", ("1: DOWN", "2: INIT")),
    ("rdma-port", "InfiniBand", "{port}/link_layer", ("InfiniBand",)),
    ("qos-congestion-control", "no notification", "{net}/ecn/roce_np/enable/{roce}", ("0",)),
    ("qos-congestion-control", "no reaction", "{net}/ecn/roce_rp/enable/{roce}", ("0",)),
    (
        "qos-congestion-control",
        "no congestion control (Broadcom)",
        "/sys/kernel/debug/bnxt_re/{pci}/cc_config/enable_cc",
        ("0", "0x0"),
    ),
    ("qos-notification", "another CNP DSCP", "{net}/ecn/roce_np/cnp_dscp", ("0", "26", "46")),
    ("qos-notification", "another CNP priority", "{net}/ecn/roce_np/cnp_802p_prio", ("0", "3", "5")),
    (
        "qos-traffic-class",
        "another traffic class",
        "{rdma}/tc/1/traffic_class",
        ("Global tclass=0", "Global tclass=96"),
    ),
    ("host-router-advertisements", "IPv6 off", "/proc/sys/net/ipv6/conf/{dev}/disable_ipv6", ("1",)),
    ("host-arp", "strict reverse path", "/proc/sys/net/ipv4/conf/{dev}/rp_filter", ("1",)),
):
    _file(*_row)


@fault("nic-present")
def interface_renamed(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """The udev rules are not installed."""
    nic = _nic(plan, chance)
    assert nic is not None
    old, new = f"/sys/class/net/{nic['netdev']}", f"/sys/class/net/ens{chance.randrange(1, 9)}np0"
    for kept in (parts.files, parts.links):
        for path in [one for one in kept if one.startswith(old + "/")]:
            kept[new + path[len(old) :]] = kept.pop(path)
    return str(nic["netdev"])


@fault("nic-driver")
def other_driver(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """It was given to a virtual machine."""
    nic = _nic(plan, chance)
    assert nic is not None
    at = parts.links[f"/sys/class/net/{nic['netdev']}/device"]
    parts.links[f"{at}/driver"] = "/sys/bus/pci/drivers/vfio-pci"
    return str(nic["netdev"])


@fault("nic-firmware")
def other_firmware(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    if sum(one["model"] == nic["model"] for one in plan["nics"]) < 3:
        return None
    _edit(parts, ("ethtool", "-i", nic["netdev"]), r"firmware-version: \S+", "firmware-version: 22.31.1014")
    return str(nic["netdev"])


@fault("nic-driver-version")
def other_driver_version(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    if sum(one["model"] == nic["model"] for one in plan["nics"]) < 3:
        return None
    _edit(parts, ("ethtool", "-i", nic["netdev"]), r"^version: \S+", "version: 5.8-2.0.3")
    return str(nic["netdev"])


@fault("qos-driver-file")
def driver_file(parts: Parts, plan: Plan, chance: Random) -> str | None:
    for path, wanted in plan.get("driver_files", {}).items():
        key = chance.choice(sorted(wanted))
        line = chance.choice(["", f"{key}={int(wanted[key]) + 1}\n", f"{key}={wanted[key]}\nSOMETHING=1\n"])
        parts.files[path] = parts.files[path].replace(f"{key}={wanted[key]}\n", line)
        return str(path)
    return None


@fault("nic-flash")
def flash_setting(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    if nic is None or not nic["firmware"]:
        return None
    name = chance.choice(sorted(nic["firmware"]))
    value = str(int(nic["firmware"][name]) + 1)
    address = pci_of(parts, nic["netdev"])
    if nic["driver"] == "mlx5_core":
        _edit(parts, ("mlxconfig", "-d", address, "query"), rf"({name}\s+)\S+", rf"\g<1>{value}")
    else:
        parts.say(f"{name} = {value}\n", *option(nic, address, name))
    return str(nic["netdev"])


def _module(parts: Parts, chance: Random) -> str | None:
    there = [words[3] for words in parts.commands if words[:3] == ("modinfo", "-F", "filename")]
    return chance.choice(there) if there else None


@fault("driver-loaded")
def module_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    module = _module(parts, chance)
    parts.files.pop(f"/sys/module/{module}/srcversion", None)
    return module


@fault("driver-origin")
def module_of_the_kernel(parts: Parts, plan: Plan, chance: Random) -> str | None:
    module = _module(parts, chance)
    if module is None:
        return None
    parts.say(
        f"/lib/modules/6.8.0-60-generic/kernel/drivers/infiniband/{module}.ko.zst\n",
        "modinfo",
        "-F",
        "filename",
        module,
    )
    return ""


@fault("driver-current")
def module_not_reloaded(parts: Parts, plan: Plan, chance: Random) -> str | None:
    first = next((one["driver"] for one in plan["nics"] if one["driver"] in {"mlx5_core", "bnxt_en"}), None)
    if first is None:
        return None
    parts.files[f"/sys/module/{first}/srcversion"] = "0F0E0D0C0B0A09080706050"
    return first


@fault("peer-memory-once")
def two_peer_memories(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms")
    parts.commands[words] = CommandOutput(
        parts.commands[words].out + "ffffffffc0d0 T ib_register_peer_memory_client\t[ib_peer_mem]\n"
    )
    return ""


@fault("peer-memory-once")
def two_packages(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.say(
        "bnxt_re/233.0, 6.8.0, x86_64: installed\nnetxtreme-peer-mem/230.2.52.0, 6.8.0, x86_64: installed\n",
        "dkms",
        "status",
    )
    return ""


@fault("link-fec")
def no_fec(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    if nic["speed_gbps"] < 100:
        return None
    _edit(
        parts,
        ("ethtool", "--show-fec", nic["netdev"]),
        "(Active FEC encoding: )RS",
        rf"\g<1>{chance.choice(['Off', 'BaseR', 'None'])}",
    )
    return str(nic["netdev"])


@fault("link-errors")
def bad_cable(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    name = chance.choice(
        ["rx_pcs_symbol_err", "rx_fec_uncorrectable_blocks"]
        if nic["driver"] == "bnxt_en"
        else ["rx_symbol_err_phy", "rx_crc_errors_phy"]
    )
    _edit(parts, ("ethtool", "-S", nic["netdev"]), f"{name}: 0", f"{name}: {chance.randrange(10**6, 10**9)}")
    return str(nic["netdev"])


@fault("link-raw-errors")
def dirty_fiber(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """FEC still mends it all, with little to spare."""
    nic = _nic(plan, chance)
    assert nic is not None
    count = chance.randrange(2 * 10**12, 16 * 10**12)
    _edit(parts, ("ethtool", "-S", nic["netdev"]), r"(rx_corrected_bits\w*): \d+", rf"\g<1>: {count}")
    return str(nic["netdev"])


@fault("link-module")
def module_alarm(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    name = chance.choice(
        ["Module temperature high alarm", "Module temperature high warning", "Laser rx power low alarm"]
    )
    _edit(parts, ("ethtool", "-m", nic["netdev"]), rf"({name}.*: )Off", r"\g<1>On")
    return str(nic["netdev"])


@fault("link-module")
def hot_module(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    _edit(parts, ("ethtool", "-m", nic["netdev"]), r": 52.31 degrees C", f": {chance.randrange(71, 90)}.10 degrees C")
    return str(nic["netdev"])


@fault("link-light")
def little_light(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """A lane below or above a limit, or without light; the module has set no flag."""
    nic = _nic(plan, chance)
    assert nic is not None
    way = chance.choice(["Transmit", "Rcvr signal"])
    power = chance.choice(
        ["0.0000 mW / -inf dBm", "0.0851 mW / -10.70 dBm", "3.5481 mW / 5.50 dBm", "2.6915 mW / 4.30 dBm"]
    )
    words = ("ethtool", "-m", nic["netdev"])
    _edit(parts, words, rf"({way} avg optical power \(Channel {chance.randrange(1, 5)}\) *: ).*", rf"\g<1>{power}")
    return str(nic["netdev"])


@fault("link-light")
def other_wavelength(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """A module for multimode fibre where the design has single mode, or the other way round."""
    nic = _nic(plan, chance)
    if nic is None or "wavelength_nm" not in nic:
        return None
    nm = 850 if nic["wavelength_nm"][0] > 1000 else chance.choice([1310, 1301, 1550.12])
    parts.say(forms.module(nm=nm), "ethtool", "-m", nic["netdev"])
    return str(nic["netdev"])


def _neighbors(parts: Parts, plan: Plan, chance: Random, change: Callable[[dict[str, Any]], None]) -> str:
    words = ("lldpctl", "-f", "json0")
    document = json.loads(parts.commands[words].out)
    row = chance.choice(document["lldp"][0]["interface"])
    change(row)
    parts.say(json.dumps(document), *words)
    return str(row["name"])


@fault("link-neighbor")
def other_port(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _neighbors(parts, plan, chance, lambda row: row["port"][0]["id"][0].update(value="et-0/0/63:1"))


@fault("link-neighbor")
def other_leaf(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _neighbors(parts, plan, chance, lambda row: row["chassis"][0]["name"][0].update(value="stripe9-leaf9"))


@fault("link-switch-mtu")
def small_switch_port(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _neighbors(parts, plan, chance, lambda row: row["port"][0]["mfs"][0].update(value="1522"))


def _control(parts: Parts, plan: Plan, chance: Random, pattern: str, by: str, driver: str = "") -> str | None:
    nic = _nic(plan, chance, driver)
    if nic is None:
        return None
    block = rf"(^{re.escape(pci_of(parts, nic['netdev']))} (?:.*\n)+?.*){pattern}"
    _edit(parts, ("lspci", "-D", "-vvv"), block, rf"\g<1>{by}")
    return str(nic["netdev"])


@fault("pcie-read-request")
def small_reads(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _control(parts, plan, chance, "MaxReadReq 4096", "MaxReadReq 512", "mlx5_core")


@fault("pcie-payload")
def small_payload(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _control(parts, plan, chance, "MaxPayload 512 bytes, MaxRead", "MaxPayload 128 bytes, MaxRead")


@fault("pcie-relaxed-ordering")
def strict_ordering(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _control(parts, plan, chance, "RlxdOrd[+]", "RlxdOrd-")


@fault("pcie-acs")
def acs_on(parts: Parts, plan: Plan, chance: Random) -> str | None:
    bit = chance.choice(["SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"])
    _edit(parts, ("lspci", "-D", "-vvv"), rf"(ACSCtl:.*{bit})-", r"\g<1>+")
    return ""


@fault("iommu-mode")
def iommu_translates(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.files[f"/sys/kernel/iommu_groups/{chance.randrange(12)}/type"] = chance.choice(["DMA", "DMA-FQ"])
    return ""


@fault("gpu-nic-pairs")
def swapped_slots(parts: Parts, plan: Plan, chance: Random) -> str | None:
    pairs = [one for one in plan["nics"] if one["gpu"] is not None]
    if len({one["gpu"] for one in pairs}) < 2:
        return None
    one, other = chance.sample(pairs, 2)
    if one["gpu"] == other["gpu"]:
        return None
    keys = [f"/sys/class/net/{nic['netdev']}/device" for nic in (one, other)]
    parts.links[keys[0]], parts.links[keys[1]] = parts.links[keys[1]], parts.links[keys[0]]
    return str(one["netdev"])


@fault("rdma-device")
def rdma_renamed(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    old, new = f"/sys/class/infiniband/{nic['rdma']}", f"/sys/class/infiniband/rocep{chance.randrange(9, 99)}s0"
    for kept in (parts.files, parts.links):
        for path in [one for one in kept if one.startswith(old + "/")]:
            kept[new + path[len(old) :]] = kept.pop(path)
    return str(nic["netdev"])


@fault("rdma-device")
def rdma_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    old = f"/sys/class/infiniband/{nic['rdma']}/"
    for kept in (parts.files, parts.links):
        for path in [one for one in kept if one.startswith(old)]:
            del kept[path]
    return str(nic["netdev"])


@fault("rdma-gids")
def gid_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    if nic is None or not nic["addresses"]:
        return None
    folder = f"/sys/class/infiniband/{nic['rdma']}/ports/{nic['rdma_port']}"
    index = 2 + 2 * chance.randrange(len(nic["addresses"]))
    what = chance.choice(["gone", "version", "netdev"])
    if what == "gone":
        parts.files[f"{folder}/gids/{index}"] = "0000:0000:0000:0000:0000:0000:0000:0000"
    elif what == "version":
        parts.files[f"{folder}/gid_attrs/types/{index}"] = "IB/RoCE v1"
    else:
        parts.files[f"{folder}/gid_attrs/ndevs/{index}"] = "bond0"
    return str(nic["netdev"])


@fault("rdma-mtu")
def small_rdma_mtu(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    if nic["mtu"] < 4200:
        return None
    _edit(parts, ("ibv_devinfo", "-d", nic["rdma"]), r"active_mtu:\t\t4096 \(5\)", "active_mtu:\t\t1024 (3)")
    return str(nic["netdev"])


@fault("rdma-verbs")
def old_library(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    text = "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 7 (supports 1 to 6) for device\n"
    parts.commands[("ibv_devinfo", "-d", nic["rdma"])] = CommandOutput("", text + "No IB devices found\n", 255)
    return str(nic["netdev"])


def _addresses(
    parts: Parts, plan: Plan, chance: Random, change: Callable[[dict[str, Any]], None], *, planned: bool
) -> str | None:
    words = ("ip", "-j", "addr", "show")
    links = json.loads(parts.commands[words].out)
    link = chance.choice(links)
    if planned and len(link["addr_info"]) < 2:
        return None
    change(link)
    parts.say(json.dumps(links), *words)
    return str(link["ifname"])


@fault("host-addresses")
def address_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _addresses(parts, plan, chance, lambda link: link["addr_info"].pop(), planned=True)


@fault("host-addresses")
def address_of_another(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _addresses(
        parts, plan, chance, lambda link: link["addr_info"][-1].update(tentative=True, dadfailed=True), planned=True
    )


@fault("host-stray-addresses")
def stray_address(parts: Parts, plan: Plan, chance: Random) -> str | None:
    stray = {"family": "inet", "local": f"192.168.77.{chance.randrange(2, 250)}", "prefixlen": 24}
    return _addresses(parts, plan, chance, lambda link: link["addr_info"].append(stray), planned=False)


def _entries(parts: Parts, chance: Random, *what: str) -> str | None:
    for family in chance.sample(["-4", "-6"], 2):
        words = ("ip", "-j", family, "-N", "-d", *what)
        rows = json.loads(parts.commands[words].out)
        if rows:
            rows.pop(chance.randrange(len(rows)))
            parts.say(json.dumps(rows), *words)
            return ""
    return None


@fault("host-routes")
def route_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _entries(parts, chance, "route", "show", "table", "all")


@fault("host-routes")
def rule_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _entries(parts, chance, "rule", "show")


def _kernel_row(parts: Parts, words: tuple[str, ...], row: dict[str, Any], first: bool = False) -> None:
    rows = json.loads(parts.commands[words].out)
    rows.insert(0 if first else len(rows), row)
    parts.say(json.dumps(rows), *words)


def _prefix(plan: Plan, chance: Random) -> tuple[dict[str, Any], int, str, int]:
    """A NIC, and the family, address and length of one of its prefixes."""
    nic = _nic(plan, chance)
    assert nic is not None
    address, _, length = chance.choice(nic["addresses"])["prefix"].partition("/")
    return nic, 6 if ":" in address else 4, address, int(length)


@fault("host-stray-rules")
def rule_before_ours(parts: Parts, plan: Plan, chance: Random) -> str | None:
    _, family, address, length = _prefix(plan, chance)
    selector: dict[str, Any] = chance.choice(
        [
            {"src": address, "srclen": length, "table": "254"},
            {"src": "all", "table": "254"},
            {"src": address, "srclen": max(length - 8, 0), "table": "77"},
            {"src": "all", "iif": "lo", "table": "77"},
            {"src": "all", "fwmark": "0x1", "fwmask": "0xff", "table": "254"},
            {"src": "all", "uid_start": 0, "uid_end": 4294967294, "table": "254"},
            {"src": "all", "ipproto": "ipproto-17", "dport": 4791, "table": "254"},
            {"not": None, "src": "all", "fwmark": "0xca6c", "table": "51820"},
            {"src": address, "srclen": length, "action": "7"},
            {"src": "all", "goto": 32766},
        ]
    )
    row = {"priority": chance.randrange(1, 90), "protocol": "0", **selector}
    _kernel_row(parts, ("ip", "-j", f"-{family}", "-N", "-d", "rule", "show"), row, first=True)
    return ""


@fault("host-stray-routes")
def route_beside_ours(parts: Parts, plan: Plan, chance: Random) -> str | None:
    family = chance.choice([4, 6])
    words = ("ip", "-j", f"-{family}", "-N", "-d", "route", "show", "table", "all")
    tables = {str(one["table"]) for one in plan["routes"]}
    ours = [one for one in json.loads(parts.commands[words].out) if one.get("table") in tables]
    if not ours:
        return None
    row = chance.choice(ours)
    other = {4: "192.0.2.9", 6: "2001:db8::9"}[family]
    change: dict[str, Any] = chance.choice(
        [
            {"dev": "eno1"},
            {"gateway": other, "metric": 1},
            {"prefsrc": other},
            {"metric": 7},
            {"dst": f"{other}/{32 if family == 4 else 128}"},
            {"type": "6", "dev": "lo"},
        ]
    )
    _kernel_row(parts, words, {**row, **change}, first=True)
    return ""


@fault("host-stray-neighbors")
def permanent_neighbor(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, _, address, _ = _prefix(plan, chance)
    row = {
        "dst": f"{address}9".replace("0.09", "0.9"),
        "dev": nic["netdev"],
        "lladdr": "02:00:5e:00:00:09",
        "state": ["PERMANENT"],
    }
    parts.say(json.dumps([row]), "ip", "-j", "neigh", "show", "nud", "permanent")
    return ""


@fault("host-firewall")
def firewall_drops(parts: Parts, plan: Plan, chance: Random) -> str | None:
    chain = {
        "family": "inet",
        "table": "filter",
        "name": "input",
        "handle": 1,
        "type": "filter",
        "hook": "input",
        "prio": 0,
        "policy": "drop",
    }
    parts.say(
        json.dumps({"nftables": [{"metainfo": {"version": "1.0.9"}}, {"chain": chain}]}), "nft", "-j", "list", "ruleset"
    )
    return ""


@fault("host-firewall")
def firewall_drops_roce(parts: Parts, plan: Plan, chance: Random) -> str | None:
    match = {"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": 4791}}
    rule = {"family": "inet", "table": "filter", "chain": "input", "handle": 4, "expr": [match, {"drop": None}]}
    parts.say(json.dumps({"nftables": [{"rule": rule}]}), "nft", "-j", "list", "ruleset")
    return ""


@fault("host-firewall")
def old_tables_drop(parts: Parts, plan: Plan, chance: Random) -> str | None:
    rule = chance.choice(
        ["-A INPUT -p udp -m udp --dport 4791 -j DROP", "-A INPUT -p udp -m multiport --dports 53,4791 -j REJECT"]
    )
    policy = chance.choice(["ACCEPT", "DROP"])
    parts.say(
        f"-P INPUT {policy}\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n{rule if policy == 'ACCEPT' else ''}\n",
        "iptables-legacy",
        "-S",
    )
    return ""


@fault("system-interrupts")
def interrupts_on_the_other_node(parts: Parts, plan: Plan, chance: Random) -> str | None:
    i = chance.randrange(len(plan["nics"]))
    nic = plan["nics"][i]
    near = (nic["gpu"] if nic["gpu"] is not None else i) // 4
    parts.files[f"/proc/irq/{200 + 10 * i + chance.randrange(3)}/smp_affinity_list"] = (
        f"{(1 - near) * 2}-{(1 - near) * 2 + 1}"
    )
    return str(nic["netdev"])


@fault("system-memory")
def memory_lost(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.files[f"/sys/devices/system/node/node{chance.randrange(2)}/meminfo"] = (
        f"Node 0 MemTotal: {chance.choice([0, 924602060])} kB"
    )
    return ""


@fault("host-traffic-control")
def delayed(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("tc", "-j", "qdisc", "show")
    rows = json.loads(parts.commands[words].out)
    chance.choice(rows)["kind"] = chance.choice(["netem", "tbf", "htb"])
    parts.say(json.dumps(rows), *words)
    return ""


def _vendor_qos(parts: Parts, nic: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Which tool is asked about QoS here, and how."""
    for words in (
        ("mlnx_qos", "-i", nic["netdev"]),
        ("niccli", "--dev", pci_of(parts, nic["netdev"]), "qos", "--ets", "--show"),
    ):
        if words in parts.commands:
            return words[0], words
    return "dcb", ()


def _qos(
    parts: Parts, plan: Plan, chance: Random
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], str, tuple[str, ...]]:
    nic = _nic(plan, chance)
    assert nic is not None
    fabric = plan["fabrics"][nic["fabric"]]
    return (nic, fabric["roce"], fabric["cnp"], *_vendor_qos(parts, nic))


def _dcb(parts: Parts, nic: dict[str, Any], part: str, change: Callable[[dict[str, Any]], None]) -> None:
    words = ("dcb", "-j", part, "show", "dev", nic["netdev"])
    document = json.loads(parts.commands[words].out)
    change(document)
    parts.say(json.dumps(document), *words)


@fault("host-carrier")
def carrier_counts(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    file = f"/run/systemd/network/10-netplan-{nic['netdev']}.network"
    if file not in parts.files:
        return None
    parts.files[file] = chance.choice(["[Network]\n", "[Network]\nConfigureWithoutCarrier=yes\nIgnoreCarrierLoss=3s\n"])
    return str(nic["netdev"])


@fault("host-carrier")
def network_manager_takes_it(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    index = parts.files[f"/sys/class/net/{nic['netdev']}/ifindex"]
    parts.files.pop(f"/run/systemd/netif/links/{index}", None)
    parts.files[f"/run/NetworkManager/devices/{index}"] = "[device]\nmanaged=true\n"
    parts.say(
        "[main]\nplugins=keyfile\n\n[device]\nmatch-device=interface-name:=other\nignore-carrier=yes\n",
        "NetworkManager",
        "--print-config",
    )
    return str(nic["netdev"])


@fault("qos-trust")
def trusts_tags(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, _, _, tool, words = _qos(parts, plan, chance)
    if tool != "mlnx_qos":
        return None
    _edit(parts, words, "trust state: dscp", "trust state: pcp")
    return str(nic["netdev"])


@fault("qos-dscp")
def other_priority(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, roce, cnp, tool, words = _qos(parts, plan, chance)
    dscp, right = chance.choice([(roce["dscp"], roce["priority"]), (cnp["dscp"], cnp["priority"])])
    wrong = (right + 2) % 8
    if tool == "mlnx_qos":
        _edit(parts, words, rf"(dscp:.*?)\b{dscp:02},", r"\g<1>")
        _edit(parts, words, r"default priority:", f"\tprio:{wrong} dscp:{dscp:02},\ndefault priority:")
    elif tool == "niccli":
        _edit(parts, words, rf"Priority: {right}(\s+Sel: 5\s+DSCP: {dscp}\b)", rf"Priority: {wrong}\g<1>")
    else:
        _dcb(
            parts,
            nic,
            "app",
            lambda one: one.update(dscp_prio=[[a, wrong if a == dscp else b] for a, b in one["dscp_prio"]]),
        )
    return str(nic["netdev"])


@fault("qos-pfc")
def pfc_on_other(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, roce, _, tool, words = _qos(parts, plan, chance)
    other = (roce["priority"] + chance.randrange(1, 8)) % 8
    if tool == "mlnx_qos":
        row = "   ".join("1" if i == other else "0" for i in range(8))
        _edit(parts, words, r"(\tenabled     ).*", rf"\g<1>{row}")
    elif tool == "niccli":
        _edit(
            parts,
            words,
            "PFC enabled: .*",
            f"PFC enabled: {chance.choice(['none', str(other)]) if roce['lossless'] else other}",
        )
    else:
        _dcb(parts, nic, "pfc", lambda one: one["prio_pfc"].__setitem__(other, True))
    return str(nic["netdev"])


@fault("qos-cable-length")
def short_cable(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, roce, _, tool, words = _qos(parts, plan, chance)
    if nic["driver"] != "mlx5_core" or not roce["lossless"] or nic["cable_m"] < 2:
        return None
    wrong = nic["cable_m"] - 1
    if tool == "mlnx_qos":
        _edit(parts, words, r"^Cable len: \d+", f"Cable len: {wrong}")
    else:
        _dcb(parts, nic, "pfc", lambda one: one.update(delay=wrong))
    return str(nic["netdev"])


@fault("qos-scheduling")
def cnp_not_strict(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, _, _, tool, words = _qos(parts, plan, chance)
    if tool == "mlnx_qos":
        _edit(parts, words, r"^tc: 2 (.*)tsa: strict", r"tc: 2 \g<1>tsa: vendor")
    elif tool == "niccli":
        _edit(parts, words, "2:strict", "2:ets")
    else:
        _dcb(parts, nic, "ets", lambda one: one["tc_tsa"].__setitem__(2, "ets"))
    return str(nic["netdev"])


@fault("qos-scheduling")
def other_share(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic, roce, _, tool, words = _qos(parts, plan, chance)
    if not roce["lossless"]:
        return None
    share, wrong = roce["bandwidth_percent"], (roce["bandwidth_percent"] + 20) % 90 + 1
    if tool == "mlnx_qos":
        _edit(parts, words, rf"^tc: 1 (.*)bw: {share}%", rf"tc: 1 \g<1>bw: {wrong}%")
    elif tool == "niccli":
        _edit(parts, words, rf"(TC Bandwidth: \d+% ){share}%", rf"\g<1>{wrong}%")
    else:
        _dcb(parts, nic, "ets", lambda one: one["tc_bw"].__setitem__(1, wrong))
    return str(nic["netdev"])


@fault("qos-global-pause")
def link_pause(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    _edit(parts, ("ethtool", "-a", nic["netdev"]), rf"({chance.choice(['RX', 'TX'])}:\t\t)off", r"\g<1>on")
    return str(nic["netdev"])


@fault("qos-notification")
def other_cnp_file(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance, "bnxt_en")
    if nic is None:
        return None
    file = "/etc/bnxt_re/bnxt_re.conf"
    parts.files[file] = re.sub(r"CNP_(DSCP|PRI)=\d+", r"CNP_\1=5", parts.files[file], count=chance.choice([1, 2]))
    return str(nic["netdev"])


@fault("qos-adaptive-routing")
def adaptive_routing_changed(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance, "mlx5_core")
    if nic is None:
        return None
    on = plan["fabrics"][nic["fabric"]]["roce"]["adaptive_routing"]
    words = ("mlxreg", "-d", pci_of(parts, nic["netdev"]), "--reg_name", "ROCE_ACCL", "--get")
    _edit(parts, words, r"(adaptive_routing_forced_en\s*\| )\S+", rf"\g<1>0x0000000{int(not on)}")
    return str(nic["netdev"])


def _smi(parts: Parts, chance: Random, column: int, value: str) -> str | None:
    words = next((one for one in parts.commands if one[0] == "nvidia-smi" and one[1].startswith("--query-gpu")), None)
    if words is None:
        return None
    rows = [line.split(", ") for line in parts.commands[words].out.splitlines()]
    chance.choice(rows)[column] = value
    parts.say("".join(", ".join(row) + "\n" for row in rows), *words)
    return ""


@fault("gpu-driver")
def no_gpu_driver(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["gpu"]["count"]:
        return None
    for path in [
        one
        for one in parts.files
        if one.startswith(("/proc/driver/nvidia", "/sys/module/amdgpu", "/sys/module/nvidia/"))
    ]:
        del parts.files[path]
    return ""


@fault("gpu-count")
def gpu_lost(parts: Parts, plan: Plan, chance: Random) -> str | None:
    for words, said in parts.commands.items():
        if words[0] == "nvidia-smi" and words[1].startswith("--query-gpu"):
            lines = said.out.splitlines(keepends=True)
            lines.pop(chance.randrange(len(lines)))
            parts.commands[words] = CommandOutput("".join(lines))
            return ""
        if words[:2] == ("amd-smi", "list"):
            parts.say(json.dumps(json.loads(said.out)[1:]), *words)
            return ""
    return None


@fault("gpu-persistence")
def no_persistence(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _smi(parts, chance, 3, "Disabled")


@fault("gpu-memory-errors")
def uncorrected(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if plan["gpu"]["vendor"] == "AMD":
        words = ("amd-smi", "bad-pages", "--json")
        rows = json.loads(parts.commands[words].out)
        chance.choice(rows)[chance.choice(["retired", "pending", "un_res"])] = [
            {"page_address": "0x1234", "page_size": "0x1000", "status": "R"}
        ]
        parts.say(json.dumps(rows), *words)
        return ""
    if chance.random() < 0.5:
        return _smi(parts, chance, 4, str(chance.randrange(1, 900)))
    words = next(one for one in parts.commands if one[0] == "nvidia-smi" and one[1].startswith("--query-remapped"))
    _edit(parts, words, "^No, No", chance.choice(["Yes, No", "No, Yes"]))
    return ""


@fault("gpu-links")
def link_inactive(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("nvidia-smi", "nvlink", "-s")
    if words in parts.commands:
        _edit(parts, words, rf"(Link {chance.randrange(12)}: )26.562 GB/s", r"\g<1><inactive>")
        return ""
    words = ("amd-smi", "xgmi", "--json")
    if words not in parts.commands:
        return None
    _edit(parts, words, '"status": "U"', '"status": "D"')
    return ""


@fault("gpu-clocks")
def held_back(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _smi(parts, chance, 5, f"0x{chance.choice([0x8, 0x20, 0x40, 0x80, 0x88]):016x}")


@fault("gpu-partition")
def mig(parts: Parts, plan: Plan, chance: Random) -> str | None:
    return _smi(parts, chance, 8, "Enabled")


@fault("gpu-clocks")
def amd_clock(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("amd-smi", "metric", "--clock", "--json")
    if words not in parts.commands:
        return None
    odd = {chance.choice(["slow", "locked"]): chance.randrange(len(parts.gpus))}
    parts.say(forms.amd_clocks(len(parts.gpus), **odd), *words)
    return ""


@fault("gpu-partition")
def amd_partition(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("amd-smi", "static", "--partition", "--json")
    if words not in parts.commands:
        return None
    odd = chance.choice([{"compute_partition": "CPX"}, {"memory_partition": "NPS4"}])
    parts.say(forms.amd_partitions(len(parts.gpus), **odd), *words)
    return ""


@fault("gpu-pcie-width")
def narrow_gpu(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["gpu"]["count"]:
        return None
    at = parts.links[f"/sys/bus/pci/devices/{chance.choice(parts.gpus)}"]
    parts.files[f"{at}/current_link_width"] = "8"
    return ""


@fault("gpu-memory-window")
def small_window(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """Above 4G Decoding is off: a window of 256 MiB."""
    if not plan["gpu"]["count"]:
        return None
    at = parts.links[f"/sys/bus/pci/devices/{chance.choice(parts.gpus)}"]
    parts.files[f"{at}/resource"] = "0x00000000d0000000 0x00000000dfffffff 0x000000000014220c"
    return ""


@fault("gpu-power-limit")
def capped_power(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("nvidia-smi", "--query-gpu=index,power.limit,power.default_limit", "--format=csv,noheader,nounits")
    if words not in parts.commands:
        return None
    _edit(parts, words, f"^{chance.randrange(plan['gpu']['count'])}, 700.00", f"3, {chance.randrange(200, 699)}.00")
    return ""


@fault("gpu-fabric")
def fabric_in_progress(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("nvidia-smi", "--query-gpu=index,fabric.state,fabric.status", "--format=csv,noheader")
    if words not in parts.commands:
        return None
    wrong = chance.choice(["In Progress, N/A", "Completed, Insufficient Resources", "Not Started, N/A"])
    _edit(parts, words, "Completed, Success", wrong)
    return ""


@fault("gpu-nvlink-domain")
def outside_the_domain(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if ("nvidia-smi", "-q") not in parts.commands:
        return None
    what, wrong = chance.choice(
        [
            (
                "Status                            : Success",
                "Status                            : Insufficient Resources",
            ),
            ("State                             : Completed", "State                             : In Progress"),
            (
                "CliqueId                          : 32766",
                f"CliqueId                          : {chance.randrange(1, 99)}",
            ),
            ("6a130f54-faaa-4b8f-847f-be44ab70f917", "00000000-0000-0000-0000-000000000000"),
        ]
    )
    text = parts.commands["nvidia-smi", "-q"].out
    parts.say(text.replace(what, wrong, chance.randrange(1, plan["gpu"]["count"])), "nvidia-smi", "-q")
    return ""


@fault("gpu-imex")
def imex_not_ready(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if ("nvidia-imex-ctl", "-q") not in parts.commands:
        return None
    parts.say(f"{chance.choice(['INITIALIZING', 'NOT_READY', 'UNAVAILABLE'])}\n", "nvidia-imex-ctl", "-q")
    return ""


@fault("gpu-peer-access")
def no_peer_access(parts: Parts, plan: Plan, chance: Random) -> str | None:
    words = ("nvidia-smi", "topo", "-p2p", "r")
    if words not in parts.commands:
        return None
    _edit(parts, words, r"\tOK\t", f"\t{chance.choice(['CNS', 'GNS', 'TNS', 'NS', 'U'])}\t")
    return ""


@fault("gpu-direct")
def no_peer_memory(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["gpu"]["count"]:
        return None
    for path in [one for one in parts.files if "memory_peers" in one or "nvidia_peermem" in one]:
        del parts.files[path]
    if plan["gpu"]["vendor"] == "NVIDIA":
        parts.say("NVIDIA\n", "modinfo", "-F", "license", "nvidia")
    return ""


@fault("system-command-line")
def word_missing(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["kernel_command_line"]:
        return None
    word = chance.choice(plan["kernel_command_line"])
    parts.files["/proc/cmdline"] = parts.files["/proc/cmdline"].replace(f" {word}", "", 1)
    return ""


@fault("system-sysctl")
def parameter_changed(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["sysctl"]:
        return None
    name = chance.choice(sorted(plan["sysctl"]))
    parts.files[f"/proc/sys/{name.replace('.', '/')}"] = str(int(plan["sysctl"][name].split()[0]) + 1)
    return name


def _system(check: str, name: str, path: str, value: str) -> None:
    def spoil(parts: Parts, plan: Plan, chance: Random) -> str | None:
        assert path in parts.files, path
        parts.files[path] = value
        return ""

    FAULTS.append(Fault(check, name, spoil))


_LIMITS = "Max open files            1024                 {files}                 files\nMax locked memory         {lock}                {lock}                bytes"
_system(
    "system-memlock", "a limit of locked memory", "/proc/self/limits", _LIMITS.format(files="1048576", lock="65536")
)
_system("system-open-files", "few open files", "/proc/self/limits", _LIMITS.format(files="4096", lock="unlimited"))
_system(
    "system-shared-memory", "little shared memory", "/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0"
)
_system("system-shared-memory", "a disk as shared memory", "/proc/self/mounts", "/dev/sda1 / ext4 rw 0 0")
_system("system-governor", "a slow clock", "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave")
_system("system-idle-states", "deep sleep", "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0")
_system("system-huge-pages", "no huge pages", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")


@fault("system-numa-nodes")
def sub_numa(parts: Parts, plan: Plan, chance: Random) -> str | None:
    for node in range(2, 8):
        parts.files[f"/sys/devices/system/node/node{node}/cpulist"] = str(node)
    return ""


@fault("system-memory-interleaving")
def no_interleaving(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.say(forms.dmidecode_mapped([0] * 16), "dmidecode", "-t", "20")
    return ""


@fault("system-time")
def not_synchronized(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.say("no\n", "timedatectl", "show", "-p", "NTPSynchronized", "--value")
    return ""


@fault("system-time")
def far_off(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.say(forms.CHRONY.format(chance.choice([0.0112, -0.83])), "chronyc", "-c", "tracking")
    return ""


@fault("system-disk")
def full_disk(parts: Parts, plan: Plan, chance: Random) -> str | None:
    parts.say(
        "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda2 459923416 455231020 395254 99% /\n",
        "df",
        "-Pk",
        "/var/log",
    )
    return ""


@fault("system-kernel")
def other_kernel(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if "kernel" not in plan.get("versions", {}):
        return None
    parts.files["/proc/sys/kernel/osrelease"] = "6.8.0-71-generic"
    return ""


@fault("job-plugin")
def no_plugin(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if not plan["job"]["environment"].get("NCCL_NET_PLUGIN"):
        return None
    if chance.random() < 0.5:
        del parts.files["/usr/local/lib/libnccl-net-railweave.so"]
    else:
        parts.say("\tlibibverbs.so.1 => not found\n", "ldd", "/usr/local/lib/libnccl-net-railweave.so")
    return ""


@fault("job-library")
def two_libraries(parts: Parts, plan: Plan, chance: Random) -> str | None:
    name = "librccl.so.1.0.50000" if plan["job"]["library"] == "RCCL" else "libnccl.so.2.18.5"
    parts.files[f"/usr/lib/x86_64-linux-gnu/{name}"] = ""
    return ""


def _log(check: str, *lines: str) -> None:
    def spoil(parts: Parts, plan: Plan, chance: Random) -> str | None:
        words = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
        parts.commands[words] = CommandOutput(parts.commands[words].out + chance.choice(lines) + "\n")
        return ""

    FAULTS.append(Fault(check, f"a line of {check}", spoil))


_log(
    "log-nic",
    "bnxt_en 0000:1d:00.0: Error (timeout: 500015) hwrm firmware cmd timeout",
    "bnxt_re0: bnxt_re Fail to setets rc:-22",
    "mlx5_core 0000:18:00.0: device's health compromised - reached miss count",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable error, Unknown identifier",
    "mlx5_core 0000:18:00.0: Detected insufficient power on the PCIe slot (27W).",
)
_log(
    "log-modules",
    "mlx5_ib: disagrees about version of symbol ib_register_device",
    "bnxt_re: Unknown symbol ib_umem_get (err -22)",
)
_log(
    "log-pcie",
    "pcieport 0000:15:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:18:00.0 domain=0x0021 address=0x7f flags=0x0020]",
    "DMAR: [DMA Read NO_PASID] Request device [18:00.0] fault addr 0x7f",
)
_log("log-gpu", "NVRM: GPU 0000:17:00.0: GPU has fallen off the bus.", "amdgpu 0000:17:00.0: amdgpu: GPU reset begin!")
_log(
    "log-memory",
    "mce: [Hardware Error]: Machine check events logged",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s!",
)
_log(
    "log-xid",
    "NVRM: Xid (PCI:0000:17:00): 79, pid=1234, GPU has fallen off",
    "NVRM: Xid (PCI:0000:27:00): 31, pid=77, MMU Fault",
)


@fault("log-link")
def flapping_in_the_log(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    words = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
    dev = nic["netdev"]
    down, up = (
        ("NIC Link is Down", "NIC Link is Up, 400000 Mbps") if nic["driver"] == "bnxt_en" else ("Link down", "Link up")
    )
    lines = [f"{nic['driver']} {pci_of(parts, dev)} {dev}: {one}" for one in chance.choice(((down,), (down, up) * 3))]
    parts.commands[words] = CommandOutput(parts.commands[words].out + "\n".join(lines) + "\n")
    return str(nic["netdev"])


def _counter(check: str, mlx5: tuple[str, ...], bnxt: tuple[str, ...]) -> None:
    def spoil(parts: Parts, plan: Plan, chance: Random) -> str | None:
        nic = _nic(plan, chance)
        assert nic is not None
        names = bnxt if nic["driver"] == "bnxt_en" else mlx5
        if not names:
            return None
        own = plan["fabrics"][nic["fabric"]]["roce"]["priority"]
        other = (own + chance.randrange(1, 8)) % 8
        name = chance.choice(names).replace("{p}", str(own)).replace("{o}", str(other))
        port = f"/sys/class/infiniband/{nic['rdma']}/ports/{nic['rdma_port']}"
        places = [f"{port}/{kind}/{name}" for kind in ("hw_counters", "counters")]
        if file := next((place for place in places if place in parts.files), ""):
            parts.files[file] = str(int(parts.files[file]) + chance.randrange(1, 9999))
        else:
            words = ("ethtool", "-S", nic["netdev"])
            _edit(parts, words, rf"({name}: )(\d+)", r"\g<1>9\g<2>")
        return str(nic["netdev"])

    FAULTS.append(Fault(check, f"{check} grows", spoil, later=True))


_counter("counters-send-drops", ("port_xmit_discards",), ("tx_roce_discards",))
_counter("counters-completions", ("resp_cqe_error", "req_cqe_error"), ("remote_access_err",))
for _share, _names, _broadcom, _count in (
    ("share-resends", "out_of_sequence", "to_retransmits", "4194304"),
    ("share-timeouts", "local_ack_timeout_err", "max_retry_exceeded", "90210"),
    ("share-receiver", "rnr_nak_retry_err", "rnr_naks_rcvd", "20000000"),
    ("share-completions", "resp_cqe_error", "remote_op_err", "700000"),
):
    _file(_share, f"{_names} since boot", "{port}/hw_counters/" + _names, (_count,), "mlx5_core")
    _file(_share, f"{_broadcom} since boot", "{port}/hw_counters/" + _broadcom, (_count,), "bnxt_en")
_file("counters-lifespan", "old counters", "{port}/hw_counters/lifespan", ("60000", "300000"))
_file("rdma-gid-order", "a hole in the GID table", "{port}/gids/1", ("0000:0000:0000:0000:0000:0000:0000:0000",))


@fault("rdma-uverbs")
def no_character_device(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    del parts.files[f"/sys/class/infiniband_verbs/uverbs{nic['rdma']}/ibdev"]
    return str(nic["netdev"])


@fault("host-path-mtu")
def large_packets_lost(parts: Parts, plan: Plan, chance: Random) -> str | None:
    """The gateway answers small packets, and none of the full size."""
    asked = [words for words in parts.commands if words[0] == "ping"]
    if not asked:
        return None
    netdev = chance.choice(asked)[-2]
    for words in (words for words in asked if words[-2] == netdev):
        parts.commands[words] = CommandOutput("1 packets transmitted, 0 received, 100% packet loss, time 0ms\n", "", 1)
        parts.say(forms.ping(words[-1], 100), *ping(netdev, words[-1], 128))
    return netdev


@fault("log-addresses")
def address_twice(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    assert nic is not None
    words = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
    line = f"IPv6: {nic['netdev']}: IPv6 duplicate address fc00:1::a used by 02:00:5e:10:00:07 detected!\n"
    parts.say(parts.commands[words].out + line, *words)
    return ""


@fault("driver-dkms")
def built_for_another_kernel(parts: Parts, plan: Plan, chance: Random) -> str | None:
    name = chance.choice(["mlnx-ofed-kernel", "bnxt_re", "amdgpu"])
    form = chance.choice(
        [
            "{}/1.0, 6.8.0-31-generic, x86_64: installed\n",
            "{}, 1.0, 5.15.0-91-generic, x86_64: installed\n",
            "{}/1.0: added\n",
        ]
    )
    parts.say(form.format(name), "dkms", "status")
    return name


@fault("gpu-vbios")
def other_vbios(parts: Parts, plan: Plan, chance: Random) -> str | None:
    if plan["gpu"]["vendor"] == "NVIDIA":
        _edit(parts, ("nvidia-smi", "--query-gpu=index,vbios_version", "--format=csv,noheader"), "A5", "89")
    else:
        _edit(parts, ("amd-smi", "static", "--vbios", "--json"), "M3000100-102", "M3000100-101")
    return ""


_counter(
    "counters-lossless-drops",
    ("rx_prio{p}_discards", "rx_prio{p}_buf_discard"),
    ("rx_roce_discards", "rx_discard_packets_cos{p}"),
)
_counter(
    "counters-resends", ("out_of_sequence", "packet_seq_err", "roce_adp_retrans"), ("oos_drop_count", "to_retransmits")
)
_counter("counters-timeouts", ("local_ack_timeout_err", "req_rnr_retries_exceeded"), ("max_retry_exceeded",))
_counter("counters-receiver", ("out_of_buffer", "rnr_nak_retry_err"), ("rnr_naks_rcvd",))
_counter("counters-link-pause", ("rx_pause_ctrl_phy", "tx_pause_ctrl_phy"), ("rx_pause_frames", "tx_pause_frames"))
_counter("counters-pause-sent", ("tx_prio{p}_pause",), ("tx_pfc_ena_frames_pri{p}",))
_counter("counters-pause-storm", ("tx_pause_storm_error_events",), ("continuous_pause_events",))
_counter(
    "counters-link-errors",
    ("rx_crc_errors_phy", "link_down_events_phy"),
    ("rx_fec_uncorrectable_blocks", "link_down_events"),
)
_counter("counters-congestion-ignored", ("rp_cnp_ignored",), ())
_counter("counters-pause-received", ("rx_prio{p}_pause",), ("rx_pfc_ena_frames_pri{p}",))
_counter(
    "counters-pause-other",
    ("rx_prio{o}_pause", "tx_prio{o}_pause"),
    ("rx_pfc_ena_frames_pri{o}", "tx_pfc_ena_frames_pri{o}"),
)
_counter("counters-notification", ("np_ecn_marked_roce_packets",), ("rx_ecn_marked_pkts",))


def _second(check: str, name: str, path: str, text: str, of: str = "") -> None:
    """A fault that is a file beside ours; ``{net}`` stands for a NIC's name, and its check may be for one."""

    def spoil(parts: Parts, plan: Plan, chance: Random) -> str | None:
        nic = _nic(plan, chance)
        if nic is None or (check == "second-nccl" and not plan["job"].get("environment")):
            return None
        parts.files[path] = text.replace("{net}", nic["netdev"])
        return of.replace("{net}", nic["netdev"])

    spoil.__name__ = name
    fault(check)(spoil)


_second(
    "second-netplan",
    "a_later_netplan_file",
    "/etc/netplan/99-x.yaml",
    "network:\n  ethernets:\n    {net}:\n      mtu: 1500\n",
    "{net}",
)
_second(
    "second-networkd",
    "an_earlier_network_file",
    "/etc/systemd/network/01-x.network",
    "[Match]\nName={net}\n[Network]\nDHCP=yes\n",
    "{net}",
)
_second(
    "second-unit",
    "a_drop_in",
    "/etc/systemd/system/nic-qos.service.d/x.conf",
    "[Service]\nExecStart=\n",
    "nic-qos.service",
)
_second(
    "second-sysctl",
    "a_later_sysctl_file",
    "/etc/sysctl.d/99-x.conf",
    "kernel.numa_balancing = 1\n",
    "kernel.numa_balancing",
)
_second("second-udev", "a_later_name", "/etc/udev/rules.d/99-x.rules", 'KERNEL=="{net}", NAME="eth7"\n', "{net}")
_second("second-nccl", "a_file_of_nccl", "/etc/nccl.conf", "NCCL_ALGO=Ring\n", "NCCL_ALGO")


@fault("second-modprobe")
def a_blacklist(parts: Parts, plan: Plan, chance: Random) -> str | None:
    nic = _nic(plan, chance)
    module = {"mlx5_core": "mlx5_ib", "bnxt_en": "bnxt_re"}.get(nic["driver"]) if nic else None
    parts.files["/etc/modprobe.d/x.conf"] = f"blacklist {module}\n"
    return module
