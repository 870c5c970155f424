"""Addresses, tables and rules of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.lab import hosts
from railweave.live.lab.assertions import Seen

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running


def addresses(lab: Running, routes: Routes) -> Seen:  # noqa: ARG001 - as every assertion
    """Exactly the designed ones: none missing, none besides."""
    checked, formed, failures = 0, 0, list[str]()
    for name, host in lab.plan.hosts.items():
        want, have = hosts.designed(host), hosts.present(lab, name)
        checked += len(want)
        formed += sum(one.origin == "slaac" for nic in host.nics for one in nic.addresses)
        failures += [f"{name} {dev}: lacks {address}/{length}" for dev, address, length in sorted(want - have)]
        failures += [f"{name} {dev}: has {address}/{length} too" for dev, address, length in sorted(have - want)]
    return Seen(checked, f"{counted(checked, 'address', 'addresses')}, {formed} formed by SLAAC", failures)


def tables(lab: Running, routes: Routes) -> Seen:  # noqa: ARG001
    """Every planned route and rule, and nothing else in the planned tables."""
    checked, failures = 0, list[str]()
    for name, host in lab.plan.hosts.items():
        missing, more = hosts.differences(lab, name)
        checked += len(host.routes) + len(host.rules)
        failures += [f"{name}: missing: {line}" for line in missing] + [f"{name}: not planned: {line}" for line in more]
    rules = sum(len(host.rules) for host in lab.plan.hosts.values())
    return Seen(checked, f"{counted(checked - rules, 'route')} and {counted(rules, 'rule')} as planned", failures)
