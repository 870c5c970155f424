"""Run checks, many at once, and sum up what they say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..failure import HostInputError
from ..machine import CannotTellError
from . import counters, gpus, job, link, log, modules, network, nics, pcie, qos, rdma, system
from .outcome import ALL, FAILED, Check, Outcome, could_not_tell, not_applicable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .server import Server, WantedNic

_AT_ONCE = 16
_MODULES = (nics, modules, link, pcie, rdma, network, qos, gpus, system, job, log, counters)
"""The modules that hold checks, in the order of the report."""


@dataclass(frozen=True)
class Result:
    """What one check said of one thing."""

    check: Check
    outcome: Outcome


def chosen(only: Iterable[str]) -> list[Check]:
    """The checks of these ids or subjects; all where none is named. Raises HostInputError for a name that is neither."""
    wanted = list(only)
    subjects = list(dict.fromkeys(one.__name__.rpartition(".")[2] for one in _MODULES))
    for name in wanted:
        if name not in ALL and name not in subjects:
            raise HostInputError(
                f"--only {name}: no such check; subjects are {', '.join(subjects)}; ids are in docs/checks.md"
            )
    inside = sorted(ALL.values(), key=lambda one: subjects.index(one.subject))
    return [one for one in inside if not wanted or one.id in wanted or one.subject in wanted]


def run(server: Server, checks: Iterable[Check]) -> list[Result]:
    """Run checks; the results in their order. A check that cannot tell ends alone."""
    there = set(server.machine.names("/sys/class/net"))
    tasks: list[tuple[Check, WantedNic | None]] = []
    for check in checks:
        if check.per_nic:
            tasks += [(check, nic) for nic in server.nics if nic.netdev in there]
        else:
            tasks.append((check, None))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        parts = [pool.submit(_one, server, check, nic) for check, nic in tasks]
        return [one for part in parts for one in part.result()]


def _one(server: Server, check: Check, nic: WantedNic | None) -> list[Result]:
    of = nic.netdev if nic else ""
    arguments = (server, nic) if nic else (server,)
    found: list[Outcome] = []
    try:
        why = check.unless(*arguments) if check.unless else ""
        found.extend([not_applicable(why)] if why else check.look(*arguments))
    except CannotTellError as error:
        found.append(could_not_tell(str(error)))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        # A tool that answers in a form nobody has seen must not end the other checks.
        found.append(could_not_tell(f"its answer is not understood ({type(error).__name__}: {error})"))
    return [Result(check, Outcome(o.verdict, o.seen, o.wanted, o.origin, o.remedy, o.of or of)) for o in found]


def exit_code(results: Iterable[Result]) -> int:
    """1 where anything failed, else 0: what could not be told is neither."""
    return 1 if any(one.outcome.verdict == FAILED for one in results) else 0


def counted(results: Iterable[Result]) -> dict[str, int]:
    """How many verdicts of each kind there are."""
    found: dict[str, int] = {}
    for one in results:
        found[one.outcome.verdict] = found.get(one.outcome.verdict, 0) + 1
    return found
