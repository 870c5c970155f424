"""Triage rules about the network (completions, GIDs, links) and about wrong or incomplete results, and the input of all rules.

The docstring of a rule's function states the rule. The function yields each place in the text that shows the rule
broken.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.messages import NUMBERS, QueuePairCall, errno_of, kind_of, queue_pair_of
from railweave.operations.bench.nccl_log_text import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.operations.bench.gpu_nics import GpuNics
    from railweave.operations.bench.lines import Line
    from railweave.operations.bench.nccl_log import FailedCompletion, LogMessage, NcclLog
    from railweave.operations.bench.read import ParsedText
    from railweave.operations.bench.triage.instruments import Instruments
    from railweave.operations.bench.triage.reports import Reports


Network = IPv4Network | IPv6Network


@dataclass(frozen=True)
class DesignedNics:
    """The RDMA devices of a server in the design.

    - ``by_tenant``: the devices of GPU NICs, one set per tenant. ``others``: all other devices.
    - ``gpus``: the number of GPUs.
    """

    by_tenant: tuple[frozenset[str], ...]
    others: frozenset[str]
    gpus: int

    def missing(self, devices: set[str], ranks: int | None) -> tuple[int, int, list[str]]:
        """Return (number of GPU NICs that a job should use, number of missing NICs, names of missing devices).

        ``devices`` are the devices in use. ``ranks`` is the number of the job's ranks on the server, or None. With fewer ranks than
        GPUs, a job should use the same fraction of the NICs; the names are then empty. They are also empty if a device in use
        has a name that the design lacks.
        """
        named = devices <= self.others.union(*self.by_tenant)
        tenants = [names for names in self.by_tenant if names & devices] if named else []
        wanted = frozenset[str]().union(*tenants) or min(self.by_tenant, key=len)
        if ranks is not None and ranks < self.gpus:
            number = -(-len(wanted) * ranks // self.gpus)
        elif named:
            return len(wanted), len(wanted - devices), sorted(wanted - devices, key=lambda name: (len(name), name))
        else:
            number = len(wanted)
        return number, max(0, number - len(devices)), []


@dataclass(frozen=True)
class Design:
    """The part of a design that triage uses.

    - ``networks``: the IP networks of the addresses of all NICs, such as ``fc00:1:1:1::/64``.
    - ``nics``: for each IP address, (server, NIC, fabric, rail).
    - ``servers``: the RDMA devices of each server that has GPU NICs, by server name in lowercase.
    """

    networks: frozenset[Network] = frozenset()
    nics: Mapping[str, tuple[str, str, str, int]] = field(default_factory=dict[str, "tuple[str, str, str, int]"])
    servers: Mapping[str, DesignedNics] = field(default_factory=dict[str, DesignedNics])
    gpu_nics: GpuNics | None = None
    """The NICs by GPU; None without a design."""

    def server(self, host: str) -> DesignedNics | None:
        """Return the RDMA devices that the design has for a host, or None if the design has no such server.

        If all servers of the design have the same devices, these are returned for an unknown host too.
        """
        named = self.servers.get(host.lower().partition(".")[0])
        alike = set(self.servers.values()) if named is None else set[DesignedNics]()
        return alike.pop() if len(alike) == 1 else named


@dataclass(frozen=True)
class Case:
    """The input of a triage rule: a text to diagnose, and the data to compare it with.

    - ``read``: the parsed text; ``lines``: the lines of the text.
    - ``design``: the design to compare with; empty without one.
    - ``job``: the NCCL logs of the same job, including the log of this text.
    """

    read: ParsedText
    lines: tuple[Line, ...]
    design: Design = field(default_factory=Design)
    job: tuple[NcclLog, ...] = ()
    reports: Reports | None = None
    """The reports of the job's texts about the progress of ranks; None if the texts were not searched for them."""
    instruments: Instruments | None = None
    """The Inspector's communicators in all texts of the job; None without such records."""

    @property
    def file(self) -> str:
        """The name of the text's file; ``-`` if the text was read from standard input."""
        return self.read.file

    @property
    def log(self) -> NcclLog | None:
        """The NCCL log in the text, or None."""
        return self.read.log

    def finding(self, line: int, description: str, where: str = "", *, fix: str | None = None) -> FindingPlace:
        """Return a finding of the current check, at the line that shows it. ``description`` is the fault.

        ``where`` is the name of a host; if it is empty, the finding names the file. ``fix`` replaces the check's own fix.
        """
        return FindingPlace(where or self.file.rpartition("/")[2] or self.file, description, self.file, line, fix=fix)

    @cached_property
    def _host_of_line(self) -> dict[int, str]:
        return {line.number: line.host for line in self.lines}

    def host_of(self, line: int) -> str:
        """Return the host that printed a line, from NCCL's message or else from the line's prefix; empty if neither names a host."""
        return (self.log.host_of(line) if self.log else "") or self._host_of_line.get(line, "")

    @cached_property
    def _host_of_address(self) -> dict[str, str]:
        logs = self.job or ((self.log,) if self.log else ())
        return {interface.address: interface.host for log in logs for interface in log.bootstrap if interface.host}

    def host_at(self, peer: str) -> str:
        """Return the host whose bootstrap interface has the address of a peer, given as ``ADDRESS<PORT>``; empty if no log has the address."""
        return self._host_of_address.get(peer.partition("<")[0].strip("[]"), "")

    def warnings_of(self, kind: str) -> Iterator[tuple[LogMessage, str]]:
        """Yield (first warning, suffix) for each group of similar warnings of a kind on a host.

        ``kind`` is the id of a rule, such as ``run-peer-ended``. The suffix names the ranks that warn, and how often they do.
        """
        warnings = [message for message in (self.log.warnings if self.log else ()) if kind_of(message.text) == kind]
        groups: dict[tuple[str, str], list[LogMessage]] = {}
        for message in warnings:
            groups.setdefault((message.host, _VALUES.sub("#", message.text)), []).append(message)
        for messages in groups.values():
            yield messages[0], self.ranks_of(messages) + times(len(messages))

    def ranks_of(self, messages: Sequence[LogMessage | FailedCompletion]) -> str:
        """Return a suffix such as `` (rank 3)`` with the ranks that printed messages; empty if the log does not show them."""
        ranks = sorted(
            {rank for message in messages if (rank := self.log and self.log.rank_of(message.line)) is not None}
        )
        if not ranks:
            return ""
        return (
            f" (rank {ranks[0]})"
            if len(ranks) == 1
            else f" (ranks {', '.join(map(str, ranks[:8]))}{', …' * (len(ranks) > 8)})"
        )

    def reported(self, kind: str) -> Iterator[FindingPlace]:
        """Yield a finding for each group of similar warnings that report one kind of fault.

        ``kind`` is this kind, given as the id of the triage rule for it, such as ``run-peer-ended``. See ``warnings_of``.
        """
        for message, suffix in self.warnings_of(kind):
            yield self.finding(message.line, message.text[:240] + suffix, message.host)


_VALUES = re.compile(r"0x[0-9a-fA-F]+|(?<=[=<:(\[ ])-?[0-9][0-9a-fA-F.:]*")


def once(seen: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield (text, line of its first occurrence, number of occurrences) for each distinct text. ``seen`` has pairs of text and line."""
    occurrences: dict[str, tuple[int, int]] = {}
    for name, line in seen:
        first, often = occurrences.get(name, (line, 0))
        occurrences[name] = first, often + 1
    for name, (line, often) in occurrences.items():
        yield name, line, often


def times(often: int) -> str:
    """Return the number of occurrences as a suffix such as ``, 12 times``. For a single occurrence, return an empty string."""
    return f", {often} times" if often > 1 else ""


NO_MEMORY = NUMBERS["Cannot allocate memory"]
LOCKED = r"\bibv_(?:reg_(?:dmabuf_)?mr|create_cq|create_qp)\w*"
"""The pattern of calls that lock memory."""
REGISTERS = r"(?:ibv|mlx5dv)_reg_(?:dmabuf_)?mr"
"""The pattern of calls that register memory, of the host or of a GPU."""
UNREACHABLE = {NUMBERS[message] for message in ("Network is unreachable", "No route to host")}
NO_NEIGHBOR = NUMBERS["Connection timed out"]
NO_PATH = {*UNREACHABLE, NO_NEIGHBOR}
NO_DEVICE = NUMBERS["No such device"]
NO_ADDRESS = {NUMBERS[message] for message in ("Invalid argument", "No such device", "Cannot assign requested address")}
TOO_MANY_FILES = {NUMBERS["Too many open files"], NUMBERS["Too many open files in system"]}
REFUSED = NUMBERS["Connection refused"]
ENDED = {NUMBERS[message] for message in ("Connection reset by peer", "Broken pipe")}
BAD_MEMORY = {NUMBERS[message] for message in ("Invalid argument", "Bad address", "Operation not supported")}

VENDOR_CODES = {
    "mlx5": {
        0x81: "transport retries exceeded",
        0x82: "receiver not ready",
        0x88: "remote access refused",
        0xF9: "flushed",
    },
    "bnxt_re": dict(
        enumerate(
            (
                *("bad response", "local length", "local queue pair operation", "local protection", "memory operation"),
                *(
                    "remote invalid request",
                    "remote access",
                    "remote operation",
                    "receiver not ready",
                    "transport retries",
                ),
                "flushed",
            ),
            1,
        )
    ),
    "ionic": dict(
        enumerate(
            (
                *("local length", "local queue pair operation", "local protection", "flushed", "memory operation"),
                *("bad response", "local access", "remote invalid request", "remote access", "remote operation"),
                *("transport retries exceeded", "receiver not ready", "XRC violation", "invalid local gather list"),
            ),
            1,
        )
    ),
}
"""The meaning of vendor error codes, by driver. Sources: bnxt_re's CQ_REQ_STATUS (roce_hsi.h), ionic's enum ionic_status (ionic_fw.h), mlx5's codes as published."""


@check(
    "run-retries-exceeded",
    "error",
    applies="run",
    why="status 12: after all retries, no packet was acknowledged. In most cases a switch drops packets of the "
    "host's MTU, or has no route to the GID",
    fix="compare the MTU of both NICs and of every switch port and VLAN on the path (`railweave fleet mesh`), "
    "then the GIDs and source routes (`railweave host check --only rdma`); if both are right and the run "
    "fails under load, increase NCCL_IB_TIMEOUT",
)
def retries(case: Case) -> Iterator[FindingPlace]:
    """Every packet is acknowledged.

    Yield a finding for each connection on which a NIC gave up retrying.
    """
    for test in case.read.perftests:
        for failure in test.failures:
            if failure.status == 12:
                mtu = f", MTU {test.mtu_bytes}" if test.mtu_bytes else ""
                gids = f" from {test.local_gid} to {test.remote_gid}" if test.local_gid and test.remote_gid else ""
                yield case.finding(failure.line, f"no answer to all retries{gids}{mtu}", test.device)
    for line in case.lines:
        if match := _UCX_RETRIES.search(line.text):
            yield case.finding(line.number, f"no answer to all retries of {match[2]} ({match[3]})", match[1])
    for key, line, often in once(
        (
            f"{completion.host}\n{completion.device}\n{completion.local_gid}\n{completion.remote_gid or completion.peer}\n{case.host_at(completion.peer)}",
            completion.line,
        )
        for completion in (case.log.failed if case.log else ())
        if completion.status == 12
    ):
        host, name, local, remote, peer = key.split("\n")
        way = f" from {local}" * bool(local) + f" to {remote}" * bool(remote) + f" ({peer})" * bool(peer)
        yield case.finding(line, f"no answer to all retries{f' of {name}' if name else ''}{way}{times(often)}", host)


_UCX_RETRIES = re.compile(
    r"\[([^\s:\]]{1,255}):\d{1,9} *:\d{1,9}\].{0,80}UCX +ERROR Transport retry count exceeded on (\S+) \(([^)]{0,80})\)"
)


@check(
    "run-completion-failed",
    "error",
    applies="run",
    why="the RDMA device aborted an operation: the number is the ibv_wc_status (5: flushed after an earlier "
    "error; 9: rejected by the peer; 10: the peer's memory cannot be accessed; 13: the peer was not ready)",
    fix="the first failure of a run is the cause; status 5 only follows from it. Read the kernel logs of both "
    "ends (`railweave host check --only log`)",
)
def completions(case: Case) -> Iterator[FindingPlace]:
    """No completion reports an error.

    Yield a finding for each failed completion, except exceeded retries, which ``retries`` reports.
    """
    for test in case.read.perftests:
        for failure in test.failures:
            if failure.status not in {None, 12}:
                yield case.finding(failure.line, f"completion with status {failure.status}", test.device)
    failed = [completion for completion in (case.log.failed if case.log else ()) if completion.status != 12]
    groups: dict[tuple[str, str], list[FailedCompletion]] = {}
    for completion in failed:
        groups.setdefault((completion.host, completion.description + _vendor(case, completion)), []).append(completion)
    for (host, text), completions in groups.items():
        yield case.finding(completions[0].line, text + case.ranks_of(completions) + times(len(completions)), host)
    known = {completion.line for completion in (case.log.failed if case.log else ())}
    for message, suffix in case.warnings_of("run-completion-failed"):
        if message.line not in known:
            yield case.finding(message.line, message.text[:240] + suffix, message.host)


def _vendor(case: Case, completion: FailedCompletion) -> str:
    """Return a suffix with the name of a failed completion's status, and the meaning of the vendor's error code if it is known.

    The driver is derived from the device names in the completion or in the case's log. If no name shows a driver, mlx5 is assumed.
    """
    named = completion.status is not None and 0 < completion.status < len(STATUSES)
    name = f", {STATUSES[completion.status or 0].removeprefix('IBV_WC_')}" if named else ""
    if completion.vendor_error is None or completion.error is not None:
        return name
    devices = [completion.device, *(device.name for device in (case.log.devices if case.log else ()))]
    driver = next((driver for device in filter(None, devices) for driver in VENDOR_CODES if driver in device), "mlx5")
    meaning = VENDOR_CODES[driver].get(completion.vendor_error, "")
    return f"{name}, vendor error {completion.vendor_error}" + (f" ({driver}: {meaning})" if meaning else "")


@check(
    "run-call-failed",
    "error",
    applies="run",
    why="the kernel, the RDMA driver or the other end rejected a call of NCCL; its message or error number gives the reason",
    fix="look up the call and its message or error number; `railweave host check` checks the settings that NCCL's calls need",
)
def calls(case: Case) -> Iterator[FindingPlace]:
    """No call of the kernel, verbs or libfabric fails.

    Yield a finding for each failed call, except those that could not lock or register memory.
    """
    for message, suffix in case.warnings_of("run-call-failed"):
        error = errno_of(message.text)
        if of_memory(message.text) or of_gpu_memory(message.text):
            continue
        number = "" if error is None or re.search(rf"\b{error}\b", message.text) else f" (errno {error})"
        queue_pair = _with_seen(case, message)
        text = f"{message.text[:240]}{number}{queue_pair}{suffix}"
        yield case.finding(message.line, text, message.host, fix=_remedy(case, message.text))
    yield from _of_perftest(case)


QUEUE_PAIR = re.compile(r"Failed to modify (?:a )?(?:DC|UD|RC|SRD)? ?QP (?:\S+ )?to (?:RTR|RTS|INIT)")


def _of_perftest(case: Case) -> Iterator[FindingPlace]:
    for line in case.lines:
        if match := QUEUE_PAIR.search(line.text):
            yield case.finding(line.number, match[0], fix=_NO_WAY)
            return


def _with_seen(case: Case, message: LogMessage) -> str:
    """Return a suffix that identifies the queue pair of a failed ``ibv_modify_qp``; empty for any other call.

    The suffix has the two ends that the message names. If the message names none, the suffix has the last queue pair that the same
    host printed before, or else ``NCCL_IB_GID_INDEX``.
    """
    if "ibv_modify_qp" not in message.text or case.log is None:
        return ""
    call = queue_pair_of(message.text)
    if call.local_gid or call.remote_gid:
        return _ends(case, call)
    before = [
        queue_pair
        for queue_pair in case.log.queue_pairs
        if queue_pair.host == message.host and queue_pair.line < message.line
    ]
    if before:
        return (
            f"; device {before[-1].device}, port {before[-1].port}, GID index {before[-1].gid_index} ({before[-1].gid})"
        )
    index = case.log.variable_of(message.host, "NCCL_IB_GID_INDEX")
    return f"; NCCL_IB_GID_INDEX is {index}" if index else ""


def _ends(case: Case, call: QueuePairCall) -> str:
    nics = [case.design.nics.get(gid) for gid in (call.local_gid, call.remote_gid)]
    names = [f"{nic[0]}:{nic[1]}" for nic in nics if nic]
    if nics[0] and nics[1] and nics[0][2:] != nics[1][2:]:
        return f"; {names[0]} is on rail {nics[0][3]}, {names[1]} on rail {nics[1][3]}: rails apart"
    return f"; {' to '.join(names)}" if names else ""


def of_memory(text: str) -> bool:
    """Return True if a message reports that memory could not be locked. The rule ``run-memory-locked`` reports such messages."""
    return errno_of(text) == NO_MEMORY and re.search(LOCKED, text) is not None


def of_gpu_memory(text: str) -> bool:
    """Return True if a message reports that GPU memory could not be registered. The rule ``run-peer-memory`` reports such messages."""
    return errno_of(text) in BAD_MEMORY and re.search(REGISTERS, text) is not None


_NO_WAY = (
    "the NIC finds no path to the GID of the other end: compare GIDs, addresses and source routes of both servers (`railweave host check "
    "--only rdma`, `railweave host gids`), and ping one from the other; if NICs of different rails have no path, set NCCL_CROSS_NIC=0"
)


def _remedy(case: Case, text: str) -> str | None:
    """Return the fix for the failed call in the message ``text``, or None if the call and its error number do not determine one."""
    error = errno_of(text)
    if "ibv_modify_qp" in text:
        if error == NO_NEIGHBOR:
            call = queue_pair_of(text)
            nics = [case.design.nics.get(gid) for gid in (call.local_gid, call.remote_gid)]
            if nics[0] and nics[1] and nics[0][2:] != nics[1][2:]:
                return "the two NICs are on rails without a path between them: set NCCL_CROSS_NIC=0, and compare the order of NICs on both servers"
            return f"the other end's MAC address was not found in time (ARP or neighbor discovery): {_NO_WAY}"
        if error in NO_PATH:
            return _NO_WAY
        if error == NO_DEVICE:
            return (
                "the GID index has no network device in this namespace, or is empty here: give the container the NIC's own interface, and choose GIDs "
                "by value (`railweave host gids` names them, NCCL_IB_ADDR_RANGE picks them)"
            )
        if error in NO_ADDRESS:
            return (
                "the GID index is empty on this server or of another type (NCCL_IB_GID_INDEX counts differently on each): choose GIDs by value, "
                "`railweave host gids` names them and NCCL_IB_ADDR_RANGE picks them"
            )
        return None
    if error in TOO_MANY_FILES:
        return "raise the number of files that the job may open: `ulimit -n 1048576`, LimitNOFILE for slurmd and containers"
    sockets = re.search(r"[Cc]onnect|[Ss]ocket|\brecv\b|\bsend\b", text)
    if sockets and error in ENDED:
        return "the other rank ended first: look for its own first failure"
    if re.search(r"[Cc]onnect|[Ss]ocket|\b[Pp]oll|\brecv\b|\bsend\b", text):
        late = error == NO_NEIGHBOR or _LATE.search(text)
        if late or error in {REFUSED, *NO_PATH} or "exceeded" in text:
            return _NO_SOCKET + _AFTER_INIT * bool(late)
    return None


_LATE = re.compile(r"timed? ?out", re.IGNORECASE)
_NO_SOCKET = (
    "ranks must reach each other by TCP on every port: open the firewall between the servers, and set NCCL_SOCKET_IFNAME to an "
    "interface whose address the other servers reach"
)
_AFTER_INIT = (
    ". If the ranks had reached each other before, the other server hangs or is down: look for its first failure"
)


@check(
    "run-peer-memory",
    "error",
    applies="run",
    why="the NIC could not register GPU memory: neither peer memory nor dma-buf works between the two drivers",
    fix="load nvidia_peermem (AMD: the driver's peer memory) after the RDMA drivers, or use dma-buf (kernel 5.12, "
    "open GPU modules, NCCL_DMABUF_ENABLE=1; perftest --use_cuda_dmabuf); for a container, do this on the "
    "host",
)
def peer_memory(case: Case) -> Iterator[FindingPlace]:
    """NICs can register the memory of GPUs.

    Yield a finding for each failure to register GPU memory.
    """
    for message, suffix in case.warnings_of("run-call-failed"):
        if of_gpu_memory(message.text):
            yield case.finding(message.line, message.text[:240] + suffix, message.host)
    if gpu_test(case):
        for line in case.lines:
            if "Couldn't allocate MR" in line.text:
                yield case.finding(
                    line.number, "perftest could not register the memory of a GPU (Couldn't allocate MR)"
                )
                return


def gpu_test(case: Case) -> bool:
    """Return True if the text of a case is the output of a perftest program that used GPU memory."""
    pattern = re.compile(r"GPU buffer|initializing CUDA|Using ROCm Device|use_(?:cuda|rocm)")
    return any(pattern.search(line.text) for line in case.lines)


@check(
    "run-wrong-gid",
    "error",
    applies="run",
    why="the same GID index is a different address on every server: link-local and RoCE v1 GIDs are not routed, "
    "and GIDs of different address families cannot connect",
    fix="select GIDs by value: `railweave host gids` shows the index of each designed address on a server; "
    "NCCL_IB_ADDR_RANGE selects by prefix",
)
def gids(case: Case) -> Iterator[FindingPlace]:
    """Both ends use routable GIDs of the same address family. With a design, the GIDs are in the networks of its GPU NICs.

    Yield a finding for each pair of GIDs that breaks this rule.
    """
    pairs = [(test.local_gid, test.remote_gid, test.line, test.device) for test in case.read.perftests]
    if case.log is not None:
        pairs += [(queue_pair.gid, "", queue_pair.line, queue_pair.host) for queue_pair in case.log.queue_pairs]
        pairs += [
            (completion.local_gid, completion.remote_gid, completion.line, completion.host)
            for completion in case.log.failed
        ]
    seen = ((f"{where}\n{problem}", line) for *pair, line, where in pairs for problem in _wrong(case, *map(str, pair)))
    for key, line, often in once(seen):
        where, _, problem = key.partition("\n")
        yield case.finding(line, problem + times(often), where)


def _wrong(case: Case, *ends: str) -> Iterator[str]:
    addresses = [ipaddress.ip_address(end) for end in ends if end]
    for address in addresses:
        if address.is_link_local:
            yield f"the GID {address} is link-local"
        elif address.is_unspecified:
            yield f"the GID {address} is empty: that index is not in use"
        elif case.design.networks and not any(address in network for network in case.design.networks):
            yield f"the GID {address} is in no network of the design's GPU NICs"
    if len({address.version for address in addresses}) > 1:
        yield f"the ends are of different families: {addresses[0]} and {addresses[1]}"


@check(
    "run-link-event",
    "error",
    applies="run",
    why="a port went down, came back at another rate, or lost its addresses while the job ran",
    fix="check the optics and counters of that port (`railweave host check --only link`), and run `railweave "
    "check` for its switch",
)
def events(case: Case) -> Iterator[FindingPlace]:
    """No port changes its state while a job runs.

    Yield a finding for each such event in the NCCL log.
    """
    messages = case.log.events if case.log else ()
    lines = {message.line for message in messages}
    others = [message for message, _ in case.warnings_of("run-link-event") if message.line not in lines]
    for key, line, often in once(
        (f"{message.host}\n{message.text}", message.line)
        for message in (*messages, *others)
        if "No device found" not in message.text
    ):
        host, _, text = key.partition("\n")
        yield case.finding(line, text[:240] + times(often), host)


@check(
    "run-port-down",
    "error",
    applies="run",
    why="a port that is not active carries no traffic: it has no cable or an unsupported transceiver, or its "
    "interface is down",
    fix="run `rdma link` and `ip link` on the server; `railweave host check --only link` checks optics and cable",
)
def port_down(case: Case) -> Iterator[FindingPlace]:
    """Ports of NICs are active.

    Yield a finding for each port that perftest reports as not active.
    """
    pattern = re.compile(r"Port number (\d+) state is (?!Active)(\w+)")
    for line in case.lines:
        if match := pattern.search(line.text):
            yield case.finding(line.number, f"port {match[1]} of the NIC is {match[2].lower()} ({match[0]})")


@check(
    "run-wrong-data",
    "error",
    applies="run",
    why="the collective returned wrong values: a GPU, a NIC or host memory corrupts data, or PCIe reorders writes "
    "that it must not reorder",
    fix="reduce the number of servers until the errors stop, to find the server that causes them; check ECC and "
    "AER counters there",
)
def data(case: Case) -> Iterator[FindingPlace]:
    """The results of a test contain no wrong values.

    Yield a finding for each row of nccl-tests with wrong values.
    """
    for test in case.read.nccl_tests:
        for row in test.rows:
            wrong = sum(
                measurement.wrong or 0 for measurement in (row.out_of_place, row.in_place) if measurement is not None
            )
            if wrong:
                yield case.finding(row.line, f"{wrong:g} values of {row.size_bytes} bytes are wrong")
        if test.out_of_bounds and not any(
            (measurement and measurement.wrong) for row in test.rows for measurement in (row.out_of_place, row.in_place)
        ):
            yield case.finding(test.line, f"{test.out_of_bounds} values are out of bounds")
