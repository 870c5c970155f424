"""Triage rules about hosts, processes and NCCL's choice of network, and the function that applies all rules to a text.

The docstring of a rule's function states the rule. The function yields each place in the text that shows the rule
broken.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.model.findings import SEVERITIES, Finding
from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.lines import lines_of
from railweave.operations.bench.read import ParsedText, read
from railweave.operations.bench.triage import wire
from railweave.operations.bench.triage.wire import Case, Network, of_memory, once, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.network.model import Network as Design
    from railweave.operations.bench.nccl_log import NcclLog


MEMORY = r"ibv_(?:reg_mr|create_cq|create_qp)\w* failed with error Cannot allocate memory|Couldn't allocate MR|memlock\b.*limit"


def _said(case: Case, pattern: str) -> Iterator[FindingPlace]:
    compiled = re.compile(pattern)
    for excerpt, line, often in once(
        (match[0][:200], line.number) for line in case.lines if (match := compiled.search(line.text))
    ):
        yield case.finding(line, excerpt + times(often))


@check(
    "run-verbs-abi",
    "error",
    applies="run",
    why="the user library of the NIC is older than its kernel driver: the inbox libbnxt_re, libmlx5 is picked, and the device is not there",
    fix="`strace -e openat ibv_devinfo 2>&1 | grep -v ENOENT` shows which library is loaded: remove it, or install the one of the driver's bundle",
)
def abi(case: Case) -> Iterator[FindingPlace]:
    """The NIC's user library supports the ABI of the kernel driver."""
    yield from _said(case, r"Driver \S+ does not support the kernel ABI of \d+ \(supports \d+ to \d+\)")


@check(
    "run-driver-symbols",
    "error",
    applies="run",
    why="the driver was built against other RDMA core modules than run: a vendor's OFED took the place of the kernel's",
    fix="uninstall the OFED (/usr/sbin/ofed_uninstall.sh), rebuild the driver, reboot",
)
def symbols(case: Case) -> Iterator[FindingPlace]:
    """Driver modules match the running RDMA core."""
    yield from _said(case, r"\b\w{1,64}: (?:disagrees about version of symbol|Unknown symbol) ib_\w+")


@check(
    "run-qos-not-set",
    "error",
    applies="run",
    why="the NIC's firmware keeps priorities to itself (DCBX or LLDP agent): the driver cannot make the class lossless, and packets are dropped under load",
    fix="NVM options dcbx_mode, lldp_nearest_bridge and lldp_nearest_non_tpmr_bridge to 0, then reboot",
)
def qos(case: Case) -> Iterator[FindingPlace]:
    """The driver can set the priorities and flow control of the NIC."""
    yield from _said(case, r"(?:bnxt_re\d+: )?(?:Fail to setets rc:-\d+|Fail to initialize Flow control)")


@check(
    "run-memory-locked",
    "error",
    applies="run",
    why="RDMA memory is locked: with the usual limit of 64 KB to 8 MB registration fails, or NCCL falls back to sockets",
    fix="`ulimit -l unlimited` for the job: limits.conf for logins, LimitMEMLOCK=infinity for slurmd and containers",
)
def memlock(case: Case) -> Iterator[FindingPlace]:
    """A job can lock as much memory as it needs."""
    yield from _said(case, MEMORY)
    refused = [
        call for call in (case.log.calls if case.log else ()) if of_memory(call) and not re.search(MEMORY, call.text)
    ]
    for key, line, often in once((f"{call.host}\n{call.text}", call.line) for call in refused):
        host, _, text = key.partition("\n")
        yield case.finding(line, text[:200] + times(often), host)


FEW = 2
"""Number of processors below which NCCL's proxy threads compete with each other and with the program."""


@check(
    "run-affinity",
    "warning",
    applies="run",
    why="a launcher or Slurm bound the rank to processors far from its GPU, or to too few: NCCL's proxy threads then run across sockets or share a core",
    fix="mpirun --bind-to numa (or --bind-to none), srun --cpu-bind=none or --gpus-per-task with --cpus-per-task of 4 or more; NCCL_IGNORE_CPU_AFFINITY=1 lets NCCL choose",
)
def affinity(case: Case) -> Iterator[FindingPlace]:
    """Each rank may use several processors that are near its GPU."""
    if case.log is None:
        return
    seen: list[tuple[str, int]] = []
    for rank_affinity in case.log.affinities:
        if not rank_affinity.processors and rank_affinity.near_gpu and rank_affinity.allowed:
            sentence = f"a rank may use processors {rank_affinity.allowed}, none of which is near its GPU ({rank_affinity.near_gpu})"
            seen.append((f"{rank_affinity.host}\n{sentence}", rank_affinity.line))
        elif (
            rank_affinity.processors
            and 0 < (processor_count := processors(rank_affinity.processors, mask=rank_affinity.is_mask)) < FEW
        ):
            seen.append(
                (f"{rank_affinity.host}\na rank has {processor_count} processor near its GPU", rank_affinity.line)
            )
    for key, line, often in once(seen):
        host, _, sentence = key.partition("\n")
        yield case.finding(line, sentence + times(often), host)


def processors(text: str, *, mask: bool) -> int:
    """Return the number of processors in a list (``0-3,8``) or a hexadecimal mask (``ff,ffffffff``); 0 if the text is neither."""
    groups = text.strip().split(",")
    if mask:
        return sum(int(group, 16).bit_count() for group in groups if re.fullmatch(r"[0-9a-fA-F]{1,8}", group))
    spans = [re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", group.strip()) for group in groups]
    return sum(max(0, int(span[2] or span[1]) - int(span[1])) + 1 for span in spans if span)


@check(
    "run-mixed-versions",
    "error",
    applies="run",
    why="libraries of different versions do not agree on what they send each other: the job fails or hangs at its start",
    fix="have LD_LIBRARY_PATH lead to one build of NCCL or RCCL on every server: the container's, or the host's",
)
def versions(case: Case) -> Iterator[FindingPlace]:
    """All ranks use the same version of the library."""
    if case.log is not None and len(case.log.versions) > 1:
        names = ", ".join(text for _, text in case.log.versions)
        yield case.finding(case.log.versions[1][0], f"ranks have different versions: {names}")
    pattern = re.compile(r"Mismatched NCCL version detected.*")
    for excerpt, line, often in once(
        (match[0], line.number) for line in case.lines if (match := pattern.search(line.text))
    ):
        yield case.finding(line, excerpt + times(often))


@check(
    "run-no-intranet",
    "info",
    applies="run",
    why="on one server GPUs reach each other without a NIC: such a run says nothing of the network",
    fix="with RCCL set RCCL_ENABLE_INTRANET=1, with NCCL NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1, to send over the NICs of one server",
)
def intranet(case: Case) -> Iterator[FindingPlace]:
    """A single-server run that is meant to test NICs sends its traffic over them."""
    if case.log is None or case.log.nodes != 1 or not case.log.channels:
        return
    told = case.log.variable("RCCL_ENABLE_INTRANET")
    if told in {"", "0"} and not any(channel.transport == "NET" for channel in case.log.channels):
        reason = f"RCCL_ENABLE_INTRANET is {told or 'not set'}" if case.log.library == "RCCL" else "P2P is on"
        yield case.finding(
            case.log.channels[0].line, f"no connection of this run on one server goes over a NIC: {reason}"
        )


@check(
    "run-mixed-rails",
    "warning",
    applies="run",
    why="NCCL pairs the NICs of servers by their order: where one has fewer, or another order, traffic changes rails and crosses spines",
    fix="`railweave host check --only nics` on that server; NCCL_IB_HCA with the same names, in the order of rails, on all",
)
def rails(case: Case) -> Iterator[FindingPlace]:
    """All servers have the same number of NICs, paired rail by rail."""
    pattern = re.compile(
        r"Detected mixed local Net device counts.*|mismatched physical devices.*|has a different number of devices=.*"
    )
    for excerpt, line, often in once(
        (match[0][:200], line.number) for line in case.lines if (match := pattern.search(line.text))
    ):
        yield case.finding(line, excerpt + times(often))


_VIRTUAL = re.compile(
    r"docker|virbr|veth|br-|cni|flannel|cali|vxlan|tun|tap|podman|lxc|lxd|kube|usb|idrac", re.IGNORECASE
)


@check(
    "run-plugin-not-loaded",
    "error",
    applies="run",
    why="without its plugin NCCL takes its own transport, in silence: queue pairs go where the hash of the switches sends them",
    fix="put the folder of the plugin into LD_LIBRARY_PATH on every server, and NCCL_NET_PLUGIN to its name: the part behind libnccl-net-",
)
def plugin(case: Case) -> Iterator[FindingPlace]:
    """The requested network plugin is loaded."""
    if case.log is None:
        return
    asked = case.log.variable("NCCL_NET_PLUGIN")
    net = [net_plugin for net_plugin in case.log.plugins if net_plugin.kind == "NET"]
    missing = [(net_plugin.name, net_plugin.line) for net_plugin in net if not net_plugin.loaded]
    if not asked or asked.lower() in {"none", "0"}:
        return
    loaded = {net_plugin.host for net_plugin in net if net_plugin.loaded}
    for name, line, often in once(missing):
        hosts = {net_plugin.host for net_plugin in net if not net_plugin.loaded} - loaded
        if hosts or not loaded:
            yield case.finding(
                line, f"NCCL_NET_PLUGIN asks for {asked}, and {name} is not found{times(often)}", min(hosts, default="")
            )


@check(
    "run-plugin-failed",
    "error",
    applies="run",
    why="a plugin that is loaded and does not start leaves the built-in transport or none",
    fix="the warning before it says why: no usable address on a NIC, a host.json of another server; `railweave host check` looks at both",
)
def plugin_failed(case: Case) -> Iterator[FindingPlace]:
    """The network plugin initializes without errors."""
    pattern = re.compile(r"Failed to initialize (?:any )?NET plugin ?(\S*)")
    seen = [(match[0], line.number) for line in case.lines if (match := pattern.search(line.text))]
    for excerpt, line, often in once(seen):
        yield case.finding(line, f"{excerpt}{times(often)}")


@check(
    "run-over-sockets",
    "error",
    applies="run",
    why="sockets carry a tenth of what RDMA does, over the interface of the bootstrap; NCCL takes them in silence where it finds no RDMA device",
    fix="see that `ibv_devinfo` lists the NICs inside the job (container: /dev/infiniband, memlock), and that NCCL_IB_DISABLE and NCCL_NET are not set",
)
def sockets(case: Case) -> Iterator[FindingPlace]:
    """NCCL uses RDMA."""
    seen = [(network.text, network.line, network.host) for network in case.log.networks] if case.log else []
    for text, line, often in once((text, line) for text, line, _ in seen if text == "Socket"):
        yield case.finding(line, f"NCCL uses the network {text}{times(often)}", next(host for *_, host in seen))


@check(
    "run-no-rdma-device",
    "error",
    applies="run",
    why="NCCL_IB_HCA names devices by their beginning: where it fits none, or none has a port that is up, there is no RDMA",
    fix="compare NCCL_IB_HCA with `rdma link` on the server: names follow udev's rule (bnxt_re0, or rocep… after the PCI slot)",
)
def device(case: Case) -> Iterator[FindingPlace]:
    """NCCL finds the RDMA devices that it is configured to use."""
    if case.log is None:
        return
    none = ((event.text, event.line) for event in case.log.events if "No device found" in event.text)
    for _, line, often in once(none):
        wanted = case.log.variable("NCCL_IB_HCA")
        yield case.finding(
            line, "no RDMA device is found" + (f" by NCCL_IB_HCA={wanted}" if wanted else "") + times(often)
        )
    yield from _left_out(case, case.log)


def _left_out(case: Case, log: NcclLog) -> Iterator[FindingPlace]:
    wanted = log.variable("NCCL_IB_HCA").lstrip("=")
    if not wanted or wanted.startswith("^") or not log.devices:
        return
    there = {rdma_device.name for rdma_device in log.devices}
    for name in filter(None, (word.partition(":")[0] for word in wanted.split(","))):
        if not any(device_name.startswith(name) for device_name in there):
            yield case.finding(
                log.devices[0].line,
                f"NCCL_IB_HCA names {name}, which is not among the devices in use: {', '.join(sorted(there))}",
            )


@check(
    "run-no-gpudirect",
    "warning",
    applies="run",
    why="data goes through the host's memory: about half the rate, and processor time; NCCL does not fail for it",
    fix="load the peer memory module or use dma-buf (kernel 5.12, NCCL_DMABUF_ENABLE=1), switch PCIe ACS off, and let NCCL_NET_GDR_LEVEL reach as far as GPU and NIC are apart",
)
def gpudirect(case: Case) -> Iterator[FindingPlace]:
    """GPUs and NICs exchange data with GPUDirect RDMA."""
    if case.log is None:
        return
    net = [channel for channel in case.log.channels if channel.transport == "NET" and channel.through != "Socket"]
    without = [channel for channel in net if not channel.gdr]
    level = case.log.variable("NCCL_NET_GDR_LEVEL")
    told = f" (NCCL_NET_GDR_LEVEL is {level})" if level else ""
    by_host: dict[str, list[int]] = {}
    for channel in without:
        by_host.setdefault(channel.host, []).append(channel.line)
    for host, lines in by_host.items():
        all_of = sum(channel.host == host for channel in net)
        yield case.finding(
            lines[0], f"{len(lines)} of {all_of} connections go over the network without GPUDirect RDMA{told}", host
        )
    if not net:
        disabled = (
            (f"{gpu_direct.host} {gpu_direct.device}", gpu_direct.line)
            for gpu_direct in case.log.gpu_direct
            if not gpu_direct.enabled
        )
        for name, line, _ in once(disabled):
            yield case.finding(line, f"GPUDirect RDMA is off for {name.split()[-1]}", name.split()[0])


@check(
    "run-bootstrap-interface",
    "warning",
    applies="run",
    why="ranks find each other by TCP: over a bridge of containers, or over interfaces of different networks, they wait for each other until a timeout",
    fix="set NCCL_SOCKET_IFNAME to the management interface, by the same name on every server",
)
def bootstrap(case: Case) -> Iterator[FindingPlace]:
    """Ranks bootstrap over an interface that all servers can reach, with the same name on all servers."""
    if case.log is None:
        return
    interfaces = case.log.bootstrap
    several = len({interface.host for interface in interfaces}) > 1 or (case.log.nodes or 1) > 1
    for name, line, often in once((interface.name, interface.line) for interface in interfaces):
        if _VIRTUAL.match(name):
            yield case.finding(
                line, f"ranks find each other over {name}, which containers or virtual machines use{times(often)}"
            )
        elif name == "lo" and several:
            yield case.finding(line, f"ranks of several servers look for each other over {name}{times(often)}")
    names = sorted({interface.name for interface in interfaces})
    if len(names) > 1:
        odd = min(names, key=lambda name: sum(interface.name == name for interface in interfaces))
        first = next(interface for interface in interfaces if interface.name == odd)
        yield case.finding(
            first.line, f"servers use different interfaces to find each other: {', '.join(names)}", first.host
        )


RULES = (
    abi,
    symbols,
    qos,
    memlock,
    plugin,
    plugin_failed,
    device,
    sockets,
    bootstrap,
    versions,
    wire.gids,
    wire.retries,
    wire.completions,
    wire.calls,
    wire.events,
    wire.data,
    gpudirect,
    affinity,
    rails,
    intranet,
    wire.ended,
)
"""The rules, in diagnostic order: causes come before their consequences."""


@dataclass(frozen=True, slots=True)
class Diagnosis(JsonObject):
    """A finding, and the line of the output that shows it."""

    JSON = ("*finding", "evidence")

    finding: Finding
    evidence: str


@dataclass(frozen=True, slots=True)
class TriageResult:
    """The values read from a text, and the diagnosed faults. The worst come first, and causes before their consequences."""

    read: ParsedText
    diagnoses: tuple[Diagnosis, ...]


def triage(text: str, file: str, networks: frozenset[Network] = frozenset()) -> TriageResult:
    """Diagnose a run from its output. Never raises an error.

    ``file``: the name of the source in findings. ``networks``: the networks of the design's GPU NICs; empty without a
    design.
    """
    reading = read(text, file)
    case = Case(reading, tuple(lines_of(text)), networks)
    findings = [finding for rule in RULES for finding in rule.run(case, file=file)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    texts = {line.number: line.text.strip()[:300] for line in case.lines}
    return TriageResult(reading, tuple(Diagnosis(finding, texts.get(finding.line, "")) for finding in findings))


def networks_of(design: Design | None) -> frozenset[Network]:
    """Return the networks of a design's GPU NICs."""
    return frozenset(
        ipaddress.ip_interface(f"{address.address}/{address.prefix_length}").network
        for server in (design.servers if design is not None else ())
        for nic in server.nics
        for address in nic.addresses
    )
