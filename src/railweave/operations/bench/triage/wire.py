"""Triage rules about the network (completions, GIDs, links) and about wrong or incomplete results, and the input of all rules.

The docstring of a rule's function states the rule. The function yields each place in the text that shows the rule
broken.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.errno_words import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.operations.bench.lines import Line
    from railweave.operations.bench.nccl_log import FailedCall, NcclLog
    from railweave.operations.bench.read import ParsedText


Network = IPv4Network | IPv6Network


@dataclass(frozen=True)
class Case:
    """A text to diagnose. ``networks`` are the networks of the design's GPU NICs; empty without a design."""

    read: ParsedText
    lines: tuple[Line, ...]
    networks: frozenset[Network] = frozenset()

    @property
    def file(self) -> str:
        """The source of the text."""
        return self.read.file

    @property
    def log(self) -> NcclLog | None:
        """The NCCL log in the text, or None."""
        return self.read.log

    def finding(self, line: int, description: str, where: str = "", *, fix: str | None = None) -> FindingPlace:
        """Return a finding of the rule that runs, at the line that shows it. ``where``: a host; if empty, the file is named."""
        return FindingPlace(where or self.file.rpartition("/")[2] or self.file, description, self.file, line, fix=fix)


def once(seen: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield each distinct text, with the line of its first occurrence and its number of occurrences."""
    occurrences: dict[str, tuple[int, int]] = {}
    for name, line in seen:
        first, often = occurrences.get(name, (line, 0))
        occurrences[name] = first, often + 1
    for name, (line, often) in occurrences.items():
        yield name, line, often


def times(often: int) -> str:
    """Return a suffix such as ``, 12 times``, or an empty string for a single occurrence."""
    return f", {often} times" if often > 1 else ""


NO_MEMORY = NUMBERS["Cannot allocate memory"]
LOCKED = r"\bibv_(?:reg_(?:dmabuf_)?mr|create_cq|create_qp)\w*"
"""Calls that lock memory."""
NO_PATH = {NUMBERS[message] for message in ("Network is unreachable", "No route to host", "Connection timed out")}
NO_ADDRESS = {NUMBERS[message] for message in ("Invalid argument", "No such device", "Cannot assign requested address")}
REFUSED = NUMBERS["Connection refused"]
ENDED = {NUMBERS[message] for message in ("Connection reset by peer", "Broken pipe")}


@check(
    "run-retries-exceeded",
    "error",
    applies="run",
    why="status 12: no packet was acknowledged in all retries. Most often a switch drops packets of the host's MTU, or has no route for the GID",
    fix="compare the MTU of both NICs and of every switch port and VLAN on the way (`railweave fleet mesh`), then the GIDs and source routes "
    "(`railweave host check --only rdma`); if both are right and it fails under load, raise NCCL_IB_TIMEOUT",
)
def retries(case: Case) -> Iterator[FindingPlace]:
    """Every packet is acknowledged."""
    for test in case.read.perftests:
        for failure in test.failures:
            if failure.status == 12:
                mtu = f", MTU {test.mtu_bytes}" if test.mtu_bytes else ""
                gids = f" from {test.local_gid} to {test.remote_gid}" if test.local_gid and test.remote_gid else ""
                yield case.finding(failure.line, f"no answer to all retries{gids}{mtu}", test.device)
    for key, line, often in once(
        (
            f"{completion.host}\n{completion.device}\n{completion.local_gid}\n{completion.remote_gid or completion.peer}",
            completion.line,
        )
        for completion in (case.log.failed if case.log else ())
        if completion.status == 12
    ):
        host, name, local, remote = key.split("\n")
        way = f" from {local}" * bool(local) + f" to {remote}" * bool(remote)
        yield case.finding(line, f"no answer to all retries{f' of {name}' if name else ''}{way}{times(often)}", host)


@check(
    "run-completion-failed",
    "error",
    applies="run",
    why="the RDMA device gave up an operation: the numbers are those of enum ibv_wc_status (5: flushed after another error, 9: refused by the peer, 10: its memory may not be reached, 13: it was not ready)",
    fix="the first failure of a run is the cause, status 5 only follows; look at both ends' kernel logs (`railweave host check --only log`)",
)
def completions(case: Case) -> Iterator[FindingPlace]:
    """No completion reports an error."""
    for test in case.read.perftests:
        for failure in test.failures:
            if failure.status not in {None, 12}:
                yield case.finding(failure.line, f"completion with status {failure.status}", test.device)
    failed = case.log.failed if case.log else ()
    seen = (
        (f"{completion.host}\n{completion.says}", completion.line) for completion in failed if completion.status != 12
    )
    for key, line, often in once(seen):
        host, _, text = key.partition("\n")
        yield case.finding(line, text + times(often), host)


@check(
    "run-call-failed",
    "error",
    applies="run",
    why="the kernel, the RDMA driver or the other end refused what NCCL asked for, and the error number says why",
    fix="look up the call and its error number; `railweave host check` looks at what calls of NCCL need",
)
def calls(case: Case) -> Iterator[FindingPlace]:
    """No call of the kernel, verbs or libfabric fails."""
    seen = [(call, f"{call.host}\n{call.text}") for call in (case.log.calls if case.log else ())]
    errors = {key: call for call, key in seen}
    for key, line, often in once((key, call.line) for call, key in seen if not of_memory(call)):
        host, _, text = key.partition("\n")
        error = errors[key].error
        number = "" if error is None or re.search(rf"\b{error}\b", text) else f" (errno {error})"
        yield case.finding(line, f"{text[:200]}{number}{times(often)}", host, fix=_remedy(errors[key]))


def of_memory(call: FailedCall) -> bool:
    """Return whether a call failed to register memory. The rule ``run-memory-locked`` reports such calls."""
    return call.error == NO_MEMORY and re.search(LOCKED, call.text) is not None


def _remedy(call: FailedCall) -> str | None:
    """Return the fix for a failed call, or None if the call and its error number do not determine one."""
    if "ibv_modify_qp" in call.text:
        if call.error in NO_PATH:
            return (
                "the NIC finds no way to the GID of the other end: compare GIDs, addresses and source routes of both servers (`railweave host check "
                "--only rdma`, `railweave host gids`), and ping one from the other; if NICs of different rails have no path, set NCCL_CROSS_NIC=0"
            )
        if call.error in NO_ADDRESS:
            return (
                "the GID index is empty on this server or of another type (NCCL_IB_GID_INDEX counts differently on each): choose GIDs by value, "
                "`railweave host gids` names them and NCCL_IB_ADDR_RANGE picks them"
            )
        return None
    if re.search(r"[Cc]onnect|[Ss]ocket|\brecv\b|\bsend\b", call.text):
        if call.error in ENDED:
            return "the other rank ended first: look for its own first failure"
        if call.error in {REFUSED, *NO_PATH}:
            return (
                "ranks must reach each other by TCP on every port: open the firewall between the servers, and set NCCL_SOCKET_IFNAME to an "
                "interface whose address the other servers reach"
            )
    return None


@check(
    "run-wrong-gid",
    "error",
    applies="run",
    why="a GID index means another address on every server: link-local or RoCE v1 GIDs are not routed, and ends of different families never meet",
    fix="choose GIDs by value: `railweave host gids` names the index of the designed address on each server; NCCL_IB_ADDR_RANGE picks it by prefix",
)
def gids(case: Case) -> Iterator[FindingPlace]:
    """Both ends use routable GIDs of the same address family. With a design, the GIDs are in the networks of its GPU NICs."""
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
        elif case.networks and not any(address in network for network in case.networks):
            yield f"the GID {address} is in no network of the design's GPU NICs"
    if len({address.version for address in addresses}) > 1:
        yield f"the ends are of different families: {addresses[0]} and {addresses[1]}"


@check(
    "run-link-event",
    "error",
    applies="run",
    why="a port went down, came back at another rate, or lost its addresses while the job ran",
    fix="look at optics and counters of that port (`railweave host check --only link`), and at `railweave check` for its switch",
)
def events(case: Case) -> Iterator[FindingPlace]:
    """No port changes its state while a job runs."""
    messages = case.log.events if case.log else ()
    for key, line, often in once(
        (f"{message.host}\n{message.text}", message.line)
        for message in messages
        if "No device found" not in message.text
    ):
        host, _, text = key.partition("\n")
        yield case.finding(line, text + times(often), host)


@check(
    "run-wrong-data",
    "error",
    applies="run",
    why="values were wrong after the collective: GPU, NIC or host memory corrupts data, or PCIe reorders what it may not",
    fix="run on fewer servers until it is gone, and take the server out whose presence brings it back; look at ECC and AER counters there",
)
def data(case: Case) -> Iterator[FindingPlace]:
    """The results of a test contain no wrong values."""
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


@check(
    "run-ended-early",
    "warning",
    applies="run",
    why="a run without its end measured nothing that can be compared",
    fix="the first failure above, or the launcher's own message, says why",
)
def ended(case: Case) -> Iterator[FindingPlace]:
    """A run completes, and reaches the requested bandwidth."""
    for test in case.read.nccl_tests:
        for line, reason in test.failures:
            yield case.finding(line, reason)
        if not test.concluded and not test.failures:
            yield case.finding(test.line, "the test did not come to its end")
        if test.average_is_enough is False:
            yield case.finding(test.line, "the average bus bandwidth is below what NCCL_TESTS_MIN_BW asks for")
    for test in case.read.perftests:
        for failure in test.failures:
            if failure.status is None and not failure.what.startswith("Failed to complete"):
                yield case.finding(failure.line, failure.what, test.device)
