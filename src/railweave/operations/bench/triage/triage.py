"""Triage rules about hosts, processes and NCCL's choice of network, and the function that applies all rules to a text.

The docstring of a rule's function states the rule. The function yields each place in the text that shows the rule
broken.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.model.findings import SEVERITIES, Finding
from railweave.model.findings.registry import FindingPlace, check
from railweave.model.network.status import present
from railweave.operations.bench.gpu_nics import gpu_nics
from railweave.operations.bench.inspector import communicators
from railweave.operations.bench.lines import lines_of
from railweave.operations.bench.messages import KINDS, kind_of
from railweave.operations.bench.read import ParsedText, read
from railweave.operations.bench.triage import frameworks, instruments, job, wire
from railweave.operations.bench.triage.reports import Reports
from railweave.operations.bench.triage.wire import Case, of_memory, once, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.nccl_log import LogMessage, NcclLog


MEMORY = r"Couldn't allocate MR|memlock\b.*limit|RLIMIT_MEMLOCK is \d{1,9} bytes"


def _said(case: Case, pattern: str) -> Iterator[FindingPlace]:
    compiled = re.compile(pattern)
    for key, line, often in once(
        (f"{case.host_of(line.number)}\n{match[0][:200]}", line.number)
        for line in case.lines
        if (match := compiled.search(line.text))
    ):
        host, _, excerpt = key.partition("\n")
        yield case.finding(line, excerpt + times(often), host)


@check(
    "run-verbs-abi",
    "error",
    applies="run",
    why="the NIC's user library is older than its kernel driver: the distribution's libbnxt_re or libmlx5 is "
    "loaded, and the RDMA device is not found",
    fix="`strace -e openat ibv_devinfo 2>&1 | grep -v ENOENT` shows the library that is loaded: remove it, or "
    "install the one that comes with the driver",
)
def abi(case: Case) -> Iterator[FindingPlace]:
    """The NIC's user library supports the ABI of the kernel driver.

    Yield a finding for each message that reports a mismatch.
    """
    yield from _said(case, r"Driver \S+ does not support the kernel ABI of \d+ \(supports \d+ to \d+\)")


@check(
    "run-driver-symbols",
    "error",
    applies="run",
    why="the driver was built for other RDMA core modules than the running ones: a vendor's OFED replaced those "
    "of the kernel",
    fix="uninstall the OFED (/usr/sbin/ofed_uninstall.sh), build the driver again, reboot",
)
def symbols(case: Case) -> Iterator[FindingPlace]:
    """Driver modules match the running RDMA core.

    Yield a finding for each kernel message about a symbol of the RDMA core that does not match.
    """
    yield from _said(case, r"\b\w{1,64}: (?:disagrees about version of symbol|Unknown symbol) ib_\w+")


@check(
    "run-qos-not-set",
    "error",
    applies="run",
    why="the NIC's firmware controls priorities itself (DCBX or LLDP agent): the driver cannot make the class "
    "lossless, and packets are dropped under load",
    fix="set the NVM options dcbx_mode, lldp_nearest_bridge and lldp_nearest_non_tpmr_bridge to 0, then reboot",
)
def qos(case: Case) -> Iterator[FindingPlace]:
    """The driver can set the priorities and flow control of the NIC.

    Yield a finding for each driver message that this failed.
    """
    yield from _said(case, r"(?:bnxt_re\d+: )?(?:Fail to setets rc:-\d+|Fail to initialize Flow control)")


@check(
    "run-memory-locked",
    "error",
    applies="run",
    why="RDMA locks its buffers in memory: with the usual limit of 64 KB to 8 MB, registration fails, or NCCL "
    "uses sockets",
    fix="set `ulimit -l unlimited` for the job: in limits.conf for logins, with LimitMEMLOCK=infinity for slurmd "
    "and containers",
)
def memlock(case: Case) -> Iterator[FindingPlace]:
    """A job can lock as much memory as it needs.

    Yield a finding for each message that memory could not be locked.
    """
    for message, suffix in case.warnings_of("run-call-failed"):
        if of_memory(message.text):
            yield case.finding(message.line, message.text[:240] + suffix, message.host)
    if not wire.gpu_test(case):
        yield from _said(case, MEMORY)


FEW = 2
"""The number of processors below which NCCL's proxy threads compete with each other and with the program."""


@check(
    "run-affinity",
    "warning",
    applies="run",
    why="the launcher or Slurm bound the rank to CPU cores far from its GPU, or to too few: NCCL's proxy threads "
    "then run on the other CPU socket, or share a core",
    fix="use mpirun --bind-to numa (or --bind-to none), srun --cpu-bind=none, or --gpus-per-task with "
    "--cpus-per-task of 4 or more; NCCL_IGNORE_CPU_AFFINITY=1 lets NCCL choose the cores",
)
def affinity(case: Case) -> Iterator[FindingPlace]:
    """Each rank may use several processors that are near its GPU.

    Yield a finding for each rank with fewer than ``FEW`` such processors.
    """
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
    "run-no-intranet",
    "info",
    applies="run",
    why="GPUs of one server reach each other without a NIC, so the run does not measure the network",
    fix="to use the NICs on one server, set RCCL_ENABLE_INTRANET=1 for RCCL, or NCCL_P2P_DISABLE=1 "
    "NCCL_SHM_DISABLE=1 for NCCL",
)
def intranet(case: Case) -> Iterator[FindingPlace]:
    """A single-server run that is meant to test NICs sends its traffic over them.

    Yield a finding if no connection of such a run uses a NIC.
    """
    if case.log is None or case.log.nodes != 1 or not case.log.channels:
        return
    setting = case.log.variable("RCCL_ENABLE_INTRANET")
    if setting in {"", "0"} and not any(channel.transport == "NET" for channel in case.log.channels):
        reason = f"RCCL_ENABLE_INTRANET is {setting or 'not set'}" if case.log.library == "RCCL" else "P2P is on"
        yield case.finding(
            case.log.channels[0].line, f"no connection of this run on one server goes over a NIC: {reason}"
        )


@check(
    "run-mixed-rails",
    "warning",
    applies="run",
    why="NCCL pairs the NICs of servers by their order: if a server has fewer NICs or a different order, traffic "
    "changes rails and crosses spines",
    fix="run `railweave host check --only nics` on that server; set NCCL_IB_HCA to the same names, in the order "
    "of rails, on all servers",
)
def rails(case: Case) -> Iterator[FindingPlace]:
    """All servers have the same number of NICs, paired rail by rail.

    Yield a finding for each message of NCCL that the numbers of NICs differ.
    """
    warnings = {message.line for message, _ in case.warnings_of("run-mixed-rails")}
    yield from case.reported("run-mixed-rails")
    pattern = re.compile(
        r"Detected mixed local Net device counts.*|mismatched physical devices.*|has a different number of devices=.*"
    )
    known = {message.line for message in (case.log.warnings if case.log else ())}
    seen = ((match[0][:200], line.number) for line in case.lines if (match := pattern.search(line.text)))
    for excerpt, line, often in once((excerpt, line) for excerpt, line in seen if line not in known | warnings):
        yield case.finding(line, excerpt + times(often), case.host_of(line))


@check(
    "run-plugin-not-loaded",
    "error",
    applies="run",
    why="without the plugin, NCCL uses its own transport without a message, and the hash of the switches selects "
    "the paths of queue pairs",
    fix="add the plugin's folder to LD_LIBRARY_PATH on every server, and set NCCL_NET_PLUGIN to the part of the "
    "plugin's file name after libnccl-net-",
)
def plugin(case: Case) -> Iterator[FindingPlace]:
    """The requested network plugin is loaded.

    Yield a finding for each host that does not find the plugin that ``NCCL_NET_PLUGIN`` names.
    """
    if case.log is None:
        return
    net = [net_plugin for net_plugin in case.log.plugins if net_plugin.kind == "NET"]
    loaded = {net_plugin.host for net_plugin in net if net_plugin.loaded}
    missing = [net_plugin for net_plugin in net if not net_plugin.loaded and net_plugin.host not in loaded]
    for host in dict.fromkeys(net_plugin.host for net_plugin in missing):
        asked = case.log.variable_of(host, "NCCL_NET_PLUGIN")
        of_host = [net_plugin for net_plugin in missing if net_plugin.host == host]
        if asked and asked.lower() not in {"none", "0"}:
            text = f"NCCL_NET_PLUGIN asks for {asked}, and {of_host[0].name} is not found{times(len(of_host))}"
            yield case.finding(of_host[0].line, text, host)


@check(
    "run-plugin-failed",
    "error",
    applies="run",
    why="if a plugin is loaded but does not start, NCCL uses its built-in transport, or none",
    fix="the warning before this line has the reason, for example a NIC without a usable address, or the "
    "host.json of a different server; `railweave host check` checks both",
)
def plugin_failed(case: Case) -> Iterator[FindingPlace]:
    """The network plugin initializes without errors.

    Yield a finding for each message that its initialization failed.
    """
    yield from case.reported("run-plugin-failed")
    pattern = re.compile(r"Failed to initialize (?:any )?NET plugin ?(\S*)")
    known = {message.line for message in (case.log.warnings if case.log else ())}
    seen = [(match[0], line.number) for line in case.lines if (match := pattern.search(line.text))]
    for excerpt, line, often in once((excerpt, line) for excerpt, line in seen if line not in known):
        yield case.finding(line, f"{excerpt}{times(often)}", case.host_of(line))


@check(
    "run-no-gpudirect",
    "warning",
    applies="run",
    why="data is copied through the host's memory, which halves the rate and uses CPU time; NCCL reports no error",
    fix="load the peer memory module or use dma-buf (kernel 5.12, NCCL_DMABUF_ENABLE=1), turn PCIe ACS off, and "
    "set NCCL_NET_GDR_LEVEL to at least the PCIe distance between GPU and NIC",
)
def gpudirect(case: Case) -> Iterator[FindingPlace]:
    """GPUs and NICs exchange data with GPUDirect RDMA.

    Yield a finding for each host with connections that do not use it.
    """
    if case.log is None:
        return
    net = [channel for channel in case.log.channels if channel.transport == "NET" and channel.through != "Socket"]
    without = [channel for channel in net if not channel.gdr]
    level = case.log.variable("NCCL_NET_GDR_LEVEL")
    level_text = f" (NCCL_NET_GDR_LEVEL is {level})" if level else ""
    by_host: dict[str, list[int]] = {}
    for channel in without:
        by_host.setdefault(channel.host, []).append(channel.line)
    for host, lines in by_host.items():
        all_of = sum(channel.host == host for channel in net)
        yield case.finding(
            lines[0],
            f"{len(lines)} of {all_of} connections go over the network without GPUDirect RDMA{level_text}",
            host,
        )
    if not net:
        disabled = (
            (f"{gpu_direct.host} {gpu_direct.device}", gpu_direct.line)
            for gpu_direct in case.log.gpu_direct
            if not gpu_direct.enabled
        )
        for name, line, _ in once(disabled):
            host, _, device = name.rpartition(" ")
            yield case.finding(line, f"GPUDirect RDMA is off for {device}{level_text}", host)
    far = (
        (
            f"{distance.host}\nGPU {distance.gpu} and NIC {distance.nic} are too far apart: distance {distance.path}",
            distance.line,
        )
        for distance in case.log.distances
        if not distance.gdr
    )
    for key, line, often in once(far):
        host, _, text = key.partition("\n")
        yield case.finding(line, text + times(often), host)
    yield from case.reported("run-no-gpudirect")


_GLUED = re.compile(r"\s*\bNCCL (?:INFO|WARN|TRACE|CALL|VERSION)\b")


_NO_LIBRARY = re.compile(r"Failed to open libibverbs\S*|libibverbs: Warning: couldn't (?:load|open) [^:]*")


@check(
    "run-library-missing",
    "error",
    applies="run",
    sometimes="warning",
    why="the container or host lacks a library or a function: features that need it are not used, for example "
    "RDMA without libibverbs",
    fix="install rdma-core (libibverbs1, ibverbs-providers) and the GPU's driver libraries in the image, in the versions of the host's drivers",
)
def library(case: Case) -> Iterator[FindingPlace]:
    """Libraries that NCCL opens exist. A missing driver of libibverbs, or NCCL linked statically, is a warning.

    Yield a finding for each message that a library is missing.
    """
    known = {message.line for message in (case.log.warnings if case.log else ())}
    for key, line, often in once(
        (f"{case.host_of(line.number)}\n{match[0].strip()}", line.number)
        for line in case.lines
        if line.number not in known and (match := _NO_LIBRARY.search(line.text))
    ):
        host, _, text = key.partition("\n")
        place = case.finding(line, text + times(often), host)
        yield replace(place, severity="warning") if "Warning" in text else place
    for place in case.reported("run-library-missing"):
        yield replace(place, severity="warning") if "ncclGetVersion" in place.what else place


@check(
    "run-peer-ended",
    "warning",
    applies="run",
    why="this rank reports that a different rank ended or aborted: a consequence, not the cause",
    fix="look for the first failure of the other ranks: give the log files of all ranks to `railweave bench triage`",
)
def peer_ended(case: Case) -> Iterator[FindingPlace]:
    """No rank loses another.

    Yield a finding for each host whose ranks warn that the connection to another rank ended.
    """
    groups: dict[str, list[LogMessage]] = {}
    for message in case.log.warnings if case.log else ():
        if kind_of(message.text) == "run-peer-ended":
            groups.setdefault(message.host, []).append(message)
    for host, messages in groups.items():
        more = f"; {len(messages) - 1} more such warnings" if len(messages) > 1 else ""
        yield case.finding(messages[0].line, messages[0].text[:240] + case.ranks_of(messages) + more, host)


@check(
    "run-unknown-warning",
    "warning",
    applies="run",
    sometimes="error",
    why="railweave has no rule for this NCCL warning, which may be the cause. It counts as an error if the job failed",
    fix="search for the message in NCCL's source code and issues; `railweave bench triage` checked only the other "
    "lines",
)
def unknown(case: Case) -> Iterator[FindingPlace]:
    """Every warning of NCCL is known.

    Yield a finding for each NCCL warning that no other rule covers.
    """
    groups: dict[str, list[LogMessage]] = {}
    completions = {completion.line for completion in (case.log.failed if case.log else ())}
    for message in case.log.warnings if case.log else ():
        if not kind_of(message.text) and message.line not in completions:
            groups.setdefault(message.host, []).append(message)
    for host, messages in groups.items():
        more = f"; {len(messages) - 1} more" if len(messages) > 1 else ""
        text = f"not known to railweave: {messages[0].text[:240]}{case.ranks_of(messages)}{more}"
        yield replace(
            case.finding(messages[0].line, text, host), severity="error" if next(_ends(case), None) else "warning"
        )


_END = re.compile(
    r"Test (?:NCCL|CUDA|HIP) failure|NCCL error in:|\bnccl(?:SystemError|InternalError|UnhandledCudaError|RemoteError|InvalidUsage|InvalidArgument)\b"
    r"|\bDistBackendError\b|NCCL (?:communicator was|failure)|unhandled (?:system|cuda|hip) error|NCCL Error [1-9]"
    r"|Failed to complete \w+|Couldn't post send|Failed to exchange data|(?:ethernet|rdma)_\w+: (?:Couldn't|Unable)|Unable to (?:Connect the HCA|read to socket|open file descriptor)"
    r"|Couldn't (?:connect to|get context|set the link layer|create IB resources|get device)|IB device \S+ not found"
    r"|[Pp]rocess(?:es)? .{0,200}exited (?:on signal|with)|(?:mpirun|mpiexec|prterun).{0,200} (?:noticed|detected) that|srun: error: .{0,200}(?:[Ee]xited with exit code|Killed|Aborted|[Ss]ignal)"
    r"|exitcode *: -?[1-9]|Signal: (?:Aborted|Segmentation)|BAD TERMINATION|\bChildFailedError\b|slurmstepd: error|UCX +(?:ERROR|FATAL)\b"
)
"""The pattern of lines by which a program, a benchmark or a launcher reports that a job failed."""


def _ends(case: Case) -> Iterator[tuple[int, str]]:
    """Yield (line number, message) for each line that shows that the job failed."""
    for test in case.read.nccl_tests:
        yield from test.failures
        if not test.concluded and not test.failures:
            yield test.line, "the test did not come to its end: it has no average line"
    if case.read.tableless and not case.read.nccl_tests:
        yield case.read.tableless, "the header of nccl-tests is here, and no row of a table"
    for run in case.read.tools:
        yield from run.failures
    reported = any(failure.status for test in case.read.perftests for failure in test.failures)
    for test in case.read.perftests:
        for failure in test.failures:
            if reported and failure.what.startswith("Failed to complete"):
                continue
            if failure.status is None and not wire.QUEUE_PAIR.search(failure.what):
                yield failure.line, failure.what
    for line in case.lines:
        match = _END.search(line.text)
        if match is None or _GLUED.search(line.text[: match.start()]):
            continue
        if not (reported and match[0].startswith("Failed to complete")):
            yield line.number, line.text.strip()[:200]


_MORE = (
    "run again with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH (and NCCL_DEBUG_FILE=nccl.%h.%p.log: give all "
    "these files at once)"
)
LOOKED_FOR = (
    "triage looks for NCCL's messages, the ends of nccl-tests, rccl-tests and perftest, and PyTorch's watchdog. "
    f"To see more, {_MORE}"
)
_RESULTS = (
    ("unhandled system error", "a call of the kernel, of a network library or of a driver failed"),
    ("unhandled cuda error", "a call of CUDA failed"),
    ("unhandled hip error", "a call of HIP failed"),
)
"""The meaning of NCCL's results that name no failed call (NVIDIA/nccl ``src/init.cc`` and ``src/nccl.h.in``)."""


@check(
    "run-ended-early",
    "error",
    applies="run",
    why="a run that did not end has no results to compare",
    fix="the first failure above, or the launcher's own message, gives the reason",
)
def ended(case: Case) -> Iterator[FindingPlace]:
    """A run completes, and reaches the requested bandwidth.

    Yield a finding for each failure of a job, and for each test below its requested bandwidth.
    """
    ends: dict[int, str] = {}
    logged = any(log.messages for log in ((case.log,) if case.log else ()) + case.job)
    for line, reason in sorted(_ends(case), key=lambda end: end[0]):
        ends.setdefault(line, reason)
    tests = {line for test in (*case.read.nccl_tests, *case.read.tools) for line, _ in test.failures}
    cause = _cause(case)
    shown = False
    for line, reason in ends.items():
        if line in tests or not shown:
            shown |= line not in tests or len(tests) > 0
            host = _host_in(reason, case) or case.host_of(line)
            meaning = next((meaning for result, meaning in _RESULTS if result in reason), "")
            fix = f"{meaning}, and this text does not name it: {_MORE}" if meaning and not logged else None
            yield case.finding(line, reason.removeprefix(f"{host}: ") + cause, host, fix=fix)
    for test in case.read.nccl_tests:
        if test.average_is_enough is False:
            yield case.finding(test.line, "the average bus bandwidth is below what NCCL_TESTS_MIN_BW asks for")


_FAILED_ON = re.compile(
    r"^\s*(?:\[[\d.]+\] *)?(?:\.\. |srun: error: |\[)?([^\s:\]]+)"
    r"(?:: Test (?:NCCL |CUDA |HIP )?(?:failure|timeout)| pid \d+: Test|: tasks? \d|:\d+ *:\d+\] .*\bUCX )"
)


def _host_in(reason: str, case: Case) -> str:
    """Return the host that the failure message ``reason`` names; empty if it names none.

    A name that is a host neither in the log nor in the tests of the case is ignored, except in a message of UCX.
    """
    match = _FAILED_ON.match(reason)
    named = {source.host for _, source in case.log.sources} if case.log else set[str]()
    named |= {host for test in case.read.nccl_tests for host in test.hosts}
    return match[1] if match and (match[1] in named or "UCX" in match[0]) else ""


def _cause(case: Case) -> str:
    """Return a clause that quotes the first warning of NCCL; empty if there is none.

    An example is ``; the first warning (host1, run.log:12): TEXT``. The warning comes from the log in the case's text. If this log has no
    warning, it comes from the first other log of the job that has one. A warning that a peer ended is quoted only if its log has no other
    warning, because it is a consequence.
    """
    for log in ((case.log,) if case.log else ()) + case.job:
        warnings = [message for message in log.warnings if kind_of(message.text) != "run-peer-ended"] or log.warnings
        if warnings:
            first = warnings[0]
            place = f"{first.host}, " * bool(first.host) + f"{log.file.rpartition('/')[2]}:{first.line}"
            return f"; the first warning ({place}): {first.text[:160]}"
    return ""


RULES = (
    abi,
    symbols,
    library,
    qos,
    memlock,
    wire.peer_memory,
    wire.port_down,
    plugin,
    plugin_failed,
    job.device,
    job.missing,
    job.sockets,
    job.bootstrap,
    job.versions,
    job.settings,
    wire.gids,
    wire.retries,
    wire.completions,
    wire.calls,
    wire.events,
    wire.data,
    frameworks.arrived,
    instruments.slow,
    instruments.diagnostics,
    job.mtus,
    job.speeds,
    *KINDS,
    gpudirect,
    affinity,
    rails,
    job.rings,
    intranet,
    unknown,
    instruments.not_understood,
    peer_ended,
    ended,
)
"""The rules of triage, ordered so that causes come before their consequences."""


@dataclass(frozen=True, slots=True)
class Diagnosis(JsonObject):
    """A finding, and the line of the output that shows it."""

    JSON = ("*finding", "evidence")

    finding: Finding
    evidence: str


@dataclass(frozen=True, slots=True)
class TriageResult:
    """The values read from a text, and the faults diagnosed in it.

    The most severe faults come first. Among faults of equal severity, causes come before their consequences.
    """

    read: ParsedText
    diagnoses: tuple[Diagnosis, ...]
    known: bool = True
    """False if triage recognizes no part of the text."""
    blank: bool = False
    """True if the text is empty."""

    @property
    def advice(self) -> str:
        """Advice to set the NCCL variables that produce the messages needed for triage. Empty if the text already has such messages."""
        log = self.read.log
        judged = self.diagnoses or (log is not None and log.messages) or self.read.trainings or self.read.perftests
        return "" if judged else LOOKED_FOR


def triage(text: str, file: str, design: wire.Design | None = None) -> TriageResult:
    """Diagnose a run from its output. Never raises an error.

    ``file`` is the name of the output's file or other source, for findings. ``design`` is the design of the network, or None.
    """
    return triage_job([(text, file)], design)[0]


def triage_job(texts: Sequence[tuple[str, str]], design: wire.Design | None = None) -> list[TriageResult]:
    """Diagnose runs from their outputs, each given as (text, name of its source). Never raises an error.

    Texts of one job, such as the files of its ranks, are compared with each other (``jobs_of``) and with ``design``, if given.
    """
    readings = [read(text, file) for text, file in texts]
    jobs = jobs_of([reading.log for reading in readings])
    lines_of_texts = [tuple(lines_of(text)) for text, _ in texts]
    reports = [
        frameworks.reports_of(text, lines, file, reading.inspector)
        for (text, file), lines, reading in zip(texts, lines_of_texts, readings, strict=True)
    ]
    whole = Reports()
    for report in reports:
        whole.join(report)
    of_job = communicators(record for reading in readings for record in reading.inspector)
    given = design or wire.Design()
    recorded = instruments.Instruments(of_job, given.gpu_nics) if of_job else None
    results: list[TriageResult] = []
    for (text, file), reading, lines, logs, report in zip(texts, readings, lines_of_texts, jobs, reports, strict=True):
        case = Case(reading, lines, given, logs, whole, recorded)
        findings = [finding for rule in RULES for finding in rule.run(case, file=file)]
        findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
        evidence = {line.number: line.text.strip()[:300] for line in case.lines}
        results.append(
            TriageResult(
                reading,
                tuple(Diagnosis(finding, evidence.get(finding.line, "")) for finding in findings),
                known=bool(findings) or report.known or not reading.empty,
                blank=not text.strip(),
            )
        )
    return results


def jobs_of(logs: Sequence[NcclLog | None]) -> list[tuple[NcclLog, ...]]:
    """Return for each log the logs of the same job, including the log itself.

    Logs belong to the same job if they share a communicator's id. Logs without ids belong to the same job if their
    numbers of ranks agree and they have neither ranks nor processes in common. Files that ``NCCL_DEBUG_FILE`` names are such logs.
    """
    group = list(range(len(logs)))
    for later, log in enumerate(logs):
        for earlier in range(later):
            before = logs[earlier]
            if log and before and group[later] != group[earlier] and _of_one_job(log, before):
                group = [group[earlier] if number == group[later] else number for number in group]
    return [
        tuple(other for other, number in zip(logs, group, strict=True) if other and number == joined)
        for joined in group
    ]


def _of_one_job(log: NcclLog, other: NcclLog) -> bool:
    if log.communicators & other.communicators:
        return True
    if log.communicators and other.communicators:
        return False
    sizes = [{rank.ranks for rank in each.ranks} for each in (log, other)]
    ranks = [{rank.rank for rank in each.ranks} for each in (log, other)]
    if sizes[0] and sizes[1] and (not sizes[0] & sizes[1] or ranks[0] & ranks[1]):
        return False
    return bool(log.processes and other.processes) and not log.processes & other.processes


def design_of(network: Network | None) -> wire.Design:
    """Return the part of a network's design that triage uses: its NICs by address and by server, and the IP networks of its NICs.

    If ``network`` is None, the result is empty.
    """
    if network is None:
        return wire.Design()
    networks: set[wire.Network] = set()
    nics: dict[str, tuple[str, str, str, int]] = {}
    for server in network.servers:
        for nic in server.nics:
            for address in nic.addresses:
                interface = ipaddress.ip_interface(f"{address.address}/{address.prefix_length}")
                networks.add(interface.network)
                nics[str(interface.ip)] = server.name, nic.name, nic.fabric, nic.rail
    known: dict[wire.DesignedNics, wire.DesignedNics] = {}  # servers are mostly alike: one value for all of them
    servers: dict[str, wire.DesignedNics] = {}
    for server in present(network).servers:
        model = network.catalog.servers[server.model]
        of_gpus = {name for group in model.nics.values() if group.per_gpu for name in group.names}
        by_tenant: dict[str, set[str]] = {}
        for nic in server.nics:
            if nic.name in of_gpus:
                by_tenant.setdefault(nic.tenant, set()).add(nic.rdma)
        if by_tenant:
            others = frozenset(nic.rdma for nic in server.nics if nic.name not in of_gpus)
            devices = wire.DesignedNics(tuple(map(frozenset, by_tenant.values())), others, model.gpus)
            servers[server.name.lower()] = known.setdefault(devices, devices)
    return wire.Design(frozenset(networks), nics, servers, gpu_nics(network))
