"""Management plane: LLDP, SNMP, NETCONF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.lint.words import Words


@check(
    "junos-lldp",
    "error",
    applies="junos",
    why="commit refuses these together",
    fix="keep one of them",
)
def lldp(root: Words) -> Iterator[str]:
    """LLDP has a management address or a management interface, and a TLV selection or a TLV filter, not both.

    Source: ``junos:must`` of protocols/lldp.
    """
    for first, second in (("management-interface", "management-address"), ("tlv-select", "tlv-filter")):
        if root.has("protocols", "lldp", first) and root.has("protocols", "lldp", second):
            yield f"lldp has {first} and {second}"


@check(
    "junos-snmp-instance",
    "error",
    applies="junos",
    why="commit refuses a community's routing instance without it, and the switch would not answer there",
    fix="add `snmp routing-instance-access`",
)
def snmp_instance(root: Words) -> Iterator[str]:
    """An SNMP community has a routing instance only with ``snmp routing-instance-access``.

    Source: ``junos:must`` of snmp/community/routing-instance.
    """
    if root.has("snmp", "routing-instance-access"):
        return
    for (name, *_), _ in root.at("snmp", "community").every("*", "routing-instance"):
        yield f"snmp community {name} has a routing-instance"


@check(
    "junos-netconf",
    "error",
    applies="junos",
    why="commit refuses it: flatten-commit-results is for RFC-compliant sessions",
    fix="add `rfc-compliant`, or remove it",
)
def netconf(root: Words) -> Iterator[str]:
    """NETCONF has ``flatten-commit-results`` only with ``rfc-compliant``.

    Source: ``junos:must`` of system/services/netconf/flatten-commit-results.
    """
    services = root.at("system", "services", "netconf")
    if services.has("flatten-commit-results") and not services.has("rfc-compliant"):
        yield "netconf has flatten-commit-results without rfc-compliant"
