"""Comparison of servers with each other: servers of one model or kind should have the same versions and settings."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.live.fleet.running import Answer, Verdict

AGREE = 0.8
"""The smallest fraction of a model's servers that must have the same value, so that servers with a different value are reported."""

COMPARED_CHECKS = (
    "nic-firmware",
    "nic-driver-version",
    "gpu-driver",
    "system-kernel",
    "system-smt",
    "job-library",
    "system-numa-nodes",
)
"""The checks whose observed value (``seen``) should be equal on all servers of a model."""


@dataclass(frozen=True, slots=True)
class OddServer:
    """A server that differs from other servers of its model or kind.

    ``seen`` is the server's value. ``usual`` is the value that most servers have: ``agree`` of ``of`` servers.
    ``usual`` is empty if no value has a majority.
    """

    server: str
    check: str
    seen: str
    usual: str
    agree: int
    of: int

    @property
    def text(self) -> str:
        """The difference in one sentence."""
        if not self.usual:
            return (
                f"{self.server} differs: {self.check} is {self.seen}, and no value has a majority of {self.of} servers"
            )
        return f"{self.server} differs: {self.check} is {self.seen}, and {self.usual} on {self.agree} of {self.of}"


def unusual_servers(answers: Sequence[Answer], models: Mapping[str, str]) -> list[OddServer]:
    """Return the servers with an unusual version or setting. ``models`` has the model of each server, by name.

    A value is usual if at least four fifths of the servers of a model have it. Servers without a model, and models with fewer than
    three servers, are left out.
    """
    odd_servers: list[OddServer] = []
    for check in COMPARED_CHECKS:
        by_model: dict[str, dict[str, str]] = {}
        for answer in answers:
            seen = " and ".join(
                sorted(
                    {
                        _plain(verdict)
                        for verdict in answer.verdicts
                        if verdict.check == check and verdict.verdict in {"ok", "failed", "warning"}
                    }
                )
            )
            if seen and answer.server in models:
                by_model.setdefault(models[answer.server], {})[answer.server] = seen
        for seen_by in by_model.values():
            usual, count = Counter(seen_by.values()).most_common(1)[0]
            if len(seen_by) > 2 and AGREE * len(seen_by) <= count < len(seen_by):
                odd_servers += _others(check, seen_by, usual, count)
    return odd_servers


def _others(check: str, seen_by: Mapping[str, str], usual: str, count: int) -> list[OddServer]:
    return [
        OddServer(server, check, seen, usual, count, len(seen_by)) for server, seen in seen_by.items() if seen != usual
    ]


def _plain(verdict: Verdict) -> str:
    """Return the ``seen`` text of a verdict without the remark about the plan in parentheses."""
    return verdict.seen.partition(" (")[0]


def unlike(answers: Iterable[Answer]) -> list[OddServer]:
    """Return the servers whose values differ from those of most servers of their kind. No design is needed.

    The value of more than half of the servers of a kind is usual. If no value has such a majority, every server of the
    kind is returned, with an empty ``usual``. A value that a server does not show counts as ``not seen``.
    """
    kinds: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        if not answer.error:
            kinds[answer.facts.get("machine", "")].append(answer)
    odd_servers: list[OddServer] = []
    for members in kinds.values():
        for name in dict.fromkeys(name for answer in members for name in answer.facts):
            seen_by = {answer.server: answer.facts.get(name, "not seen") for answer in members}
            usual, count = Counter(seen_by.values()).most_common(1)[0]
            if count < len(seen_by):
                odd_servers += _others(name, seen_by, usual if count * 2 > len(seen_by) else "", count)
    return odd_servers


@dataclass(frozen=True, slots=True)
class SharedAddress:
    """An address that several servers have. ``places`` are the (server, interface) pairs that have the address."""

    address: str
    places: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The finding in one sentence, with the first four servers."""
        names = [f"{server} ({netdev})" for server, netdev in self.places]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"{self.address} is on {', '.join(names[:4])}{more}: one server only may have it"


def shared_addresses(answers: Iterable[Answer]) -> list[SharedAddress]:
    """Return the addresses that more than one server has on its interfaces."""
    owners: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for answer in answers:
        for netdev, addresses in answer.addresses.items():
            for address in addresses:
                owners[address].append((answer.server, netdev))
    return [
        SharedAddress(address, tuple(places))
        for address, places in owners.items()
        if len({server for server, _ in places}) > 1
    ]
