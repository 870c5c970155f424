"""The assertions about a lab that runs the designed network. Each assertion has an id and reports evidence."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from railweave.errors import InputError, Option, Problem
from railweave.json_values import JsonObject
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running

SHOWN = 20
"""The largest number of failures that are listed for an assertion. The total is always reported."""

AGAIN_S = 1.0

LOOKS = 2
"""The smallest number of attempts before an assertion counts as failed, unless ``retry_s`` is zero.

The first attempt may take longer than ``retry_s`` seconds, so the time limit is not enough.
"""


@dataclass(frozen=True)
class Outcome(JsonObject):
    """The outcome of an assertion.

    - ``checked``: the number of objects that were checked, for example sessions.
    - ``evidence``: a sentence about the values that were compared.
    - ``failed``: the number of failures. ``failures`` has a sentence for each of the first ``SHOWN``.
    - ``applies``: False if there was nothing to check.
    """

    id: str
    title: str
    passed: bool
    checked: int
    evidence: str
    failures: tuple[str, ...] = ()
    failed: int = 0
    seconds: float = 0.0
    applies: bool = True


@dataclass(frozen=True)
class Observation:
    """The result of one attempt at an assertion: the number of objects checked, a description, and the failures."""

    checked: int
    evidence: str
    failures: Sequence[str] = ()


class Assertion(Protocol):
    """A check that a lab forwards packets as ``routes`` describe. ``routes`` may be computed with links or devices down."""

    def __call__(self, lab: Running, routes: Routes) -> Observation:
        """Check the lab once."""
        ...


@dataclass(frozen=True)
class Registered:
    """An assertion with its id and its title."""

    id: str
    title: str
    look: Assertion


def every() -> list[Registered]:
    """Return all assertions, the basic ones first. So the first failure probably explains later failures."""
    from railweave.live.lab.assertions import routing, sessions, tenants, traffic

    return [
        Registered("bgp-sessions", "every BGP session is established", sessions.bgp_sessions),
        Registered("isis-adjacencies", "every adjacency of IS-IS is up", routing.isis_adjacencies),
        Registered("bfd-sessions", "every BFD session is up, with the lab's timers", sessions.bfd_sessions),
        Registered("slaac-addresses", "every NIC has exactly the designed addresses", sessions.addresses),
        Registered("host-tables", "every server has exactly the planned tables and rules", sessions.tables),
        Registered("fib-equals-routes", "every kernel forwards as `routes` has it, backups too", routing.fib),
        Registered("path-colors", "every prefix leaves by the links of its path color", routing.path_colors),
        Registered("no-leaf-transit", "leaves advertise their own prefixes and nothing else", routing.leaf_transit),
        Registered("tenants-connected", "NICs of a tenant reach each other by type-5 routes", tenants.connected),
        Registered("tenants-isolated", "nothing passes between tenants", tenants.isolated),
        Registered("planes-apart", "nothing passes between planes", traffic.planes_apart),
        Registered("reachability", "every server reaches every other from each address", traffic.reachability),
        Registered("queue-pair-links", "queue pairs cross exactly the links of `paths`", traffic.links),
        Registered("mtu", "packets of the NIC's full size pass end to end", traffic.mtu),
    ]


def check_known(ids: Sequence[str]) -> None:
    """Raise ``InputError`` if an id does not belong to an assertion."""
    known = [assertion.id for assertion in every()]
    for name in ids:
        if name not in known:
            raise InputError(
                [Problem(Option("--only"), f"there is no assertion {name!r}", f"they are {', '.join(known)}")]
            )


def run(
    lab: Running, *, only: Sequence[str] = (), retry_s: float = 30, progress: Callable[[str], None] = silent
) -> list[Outcome]:
    """Check all assertions, or those whose ids are in ``only``.

    An assertion that fails is tried again for ``retry_s`` seconds, because a busy machine converges late.
    """
    routes = lab.control_plane.routes()
    outcomes: list[Outcome] = []
    for assertion in every():
        if not only or assertion.id in only:
            progress(assertion.id)
            outcomes.append(_check(lab, routes, assertion, retry_s))
    return outcomes


def _check(lab: Running, routes: Routes, assertion: Registered, retry_s: float) -> Outcome:
    start = time.monotonic()
    looks = 0
    while True:
        seen = assertion.look(lab, routes)
        looks += 1
        if not seen.failures or (time.monotonic() - start > retry_s and (looks >= LOOKS or not retry_s)):
            outcome = Outcome(
                assertion.id, assertion.title, not seen.failures, seen.checked, seen.evidence, applies=seen.checked > 0
            )
            failures = tuple(seen.failures[:SHOWN])
            return replace(
                outcome, failures=failures, failed=len(seen.failures), seconds=round(time.monotonic() - start, 2)
            )
        time.sleep(AGAIN_S)
