"""The searchable tables of the page as compact JSON, column by column.

A table is ``{id, columns: [{title, kind}], rows, data}``. ``data`` has, for each column, either the list of all its cells or
``{d: values, i: indexes}``, whichever is shorter: each different value once, and for each row the index of its value. ``kind`` is the
style of a cell:

- ``text``, ``number``, ``severity``;
- ``mono``: names and addresses;
- ``word``: short text;
- ``color``: the value is ``SWATCH NAME``, where SWATCH is the CSS class of the path color's swatch.

Addresses are compressed further, because a large cluster has hundreds of thousands of them. A NIC has the same interface
identifier in every prefix of its segment. Therefore, the identifier is stored once per NIC, and the prefixes are stored once per
segment. The page combines them row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.design.limits.headroom_terms import Headroom, headrooms
from railweave.model.findings import Finding, by_severity
from railweave.outputs.report.figures import roles
from railweave.pages.palette import Stroke, swatch_class

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.network.devices import Nic
    from railweave.model.network.model import Network

Strokes = dict[str, dict[int, "Stroke"]]


def table(identifier: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Return a table as JSON, encoded column by column. ``identifier`` is its id, and ``columns`` has (title, kind). Columns without any value are left out."""
    kept = [place for place in range(len(columns)) if not rows or any(row[place] not in {"", None} for row in rows)]
    return {
        "id": identifier,
        "columns": [{"title": columns[place][0], "kind": columns[place][1]} for place in kept],
        "rows": len(rows),
        "data": [_coded([row[place] for row in rows]) for place in kept],
    }


def _coded(values: list[object]) -> list[object] | dict[str, object]:
    distinct: dict[object, int] = {}
    indexes = [distinct.setdefault(value, len(distinct)) for value in values]
    return {"d": list(distinct), "i": indexes} if 2 * len(distinct) < len(values) else values


def findings_table(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the table of findings, errors first."""
    columns = (
        ("Severity", "severity"),
        ("Id", "mono"),
        ("Where", "mono"),
        ("Input", "mono"),
        ("What", "text"),
        ("Why", "text"),
        ("Fix", "text"),
    )
    return table(
        "findings",
        columns,
        [
            (
                finding.severity,
                finding.id,
                finding.where,
                finding.place,
                finding.what,
                finding.why,
                finding.fix,
            )
            for finding in by_severity(list(findings))
        ],
    )


def cables_table(network: Network, strokes: Strokes) -> dict[str, Any]:
    """Return the cabling plan with one row per cable: server cables first, then leaf by leaf.

    ``strokes`` has the drawing styles of path colors (classes of uplinks), for the swatches in the table.
    """
    several = len(network.fabrics) > 1
    color = _color_cell(network, strokes)
    columns = (
        *((("Fabric", "word"),) if several else ()),
        ("From", "mono"), ("Port", "mono"), ("Lanes", "mono"), ("Optic", "mono"), ("Address", "mono"),
        ("To", "mono"), ("Port", "mono"), ("Lanes", "mono"), ("Optic", "mono"), ("Address", "mono"),
        ("Speed", "number"), ("Length", "number"), ("Measured", "word"), ("Path color", "color"),
    )  # fmt: skip
    return table(
        "cables",
        columns,
        [
            (
                *((cable.fabric,) if several else ()),
                *(
                    value
                    for end in (cable.a, cable.b)
                    for value in (end.device, end.port, end.lanes, end.optic, end.address)
                ),
                f"{cable.speed_gbps}G",
                f"{cable.length_m:g} m",
                "yes" if cable.measured else "",
                color(cable.fabric, cable.color),
            )
            for cable in network.cables
        ],
    )


def switches_table(network: Network) -> dict[str, Any]:
    """Return the table of switches: identity, numbers, a link to the runbook, and the position of the role in the order of bring-up."""
    order = list(
        dict.fromkeys(switch.role for switch in reversed(network.switches))
    )  # from the top down, as in the runbook
    several, sites = len(network.fabrics) > 1, len({switch.site for switch in network.switches}) > 1
    columns = (
        ("Name", "mono"), ("Role", "word"), ("Fabric", "word"), ("Site", "word"), ("Stripe", "word"),
        ("Rails", "word"), ("Model", "mono"), ("System", "word"), ("AS number", "number"), ("Router id", "mono"),
        ("Management", "mono"), ("Gateway", "mono"), ("Serial", "mono"), ("Brought up", "number"), ("Runbook", "link"),
    )  # fmt: skip
    return table(
        "switches",
        columns,
        [
            (
                switch.name,
                switch.role,
                switch.fabric if several else "",
                switch.site if sites else "",
                switch.stripe,
                ", ".join(map(str, switch.rails)),
                switch.model,
                f"{switch.nos} {switch.release}",
                switch.asn,
                switch.router_id,
                switch.management_address,
                switch.management_gateway,
                switch.serial,
                order.index(switch.role) + 1,
                f"runbook/{switch.name}.md",
            )
            for switch in sorted(network.switches, key=lambda member: order.index(member.role))
        ],
    )


def buffers_table(network: Network) -> dict[str, Any]:
    """Return the table of buffers: the PFC headroom and the buffer pools of every switch with a lossless class."""
    columns = (
        ("Switch", "mono"), ("Fabric", "word"), ("Role", "word"), ("Ports, need and limit of each", "text"),
        ("Lossless classes", "number"), ("Headroom needed", "number"), ("Allocated", "number"), ("Used", "number"),
        ("Less dedicated buffers", "number"), ("Lossless pool", "number"), ("Lossy pool", "number"), ("Fits", "word"),
    )  # fmt: skip
    several = len(network.fabrics) > 1
    rows: list[tuple[object, ...]] = []
    for fabric in network.fabrics:
        for role in roles(network, fabric):
            for headroom in headrooms(network, fabric, role):
                terms = ", ".join(
                    f"{term.ports} {term.kind} {term.port.speed_gbps}G {term.port.length_m:g} m: {term.port.need_bytes:,} B, limit {term.port.limit_bytes:,} B"
                    for term in headroom.terms
                )
                used = (
                    f"{100 * headroom.need_bytes / headroom.partition_bytes:.1f} %" if headroom.partition_bytes else "–"
                )
                pools = [
                    f"{headroom.shared_mb * share / 100:.1f} MB"
                    for share in (headroom.buffers.lossless, headroom.buffers.lossy)
                ]
                rows.append(
                    (
                        headroom.device,
                        fabric.name if several else "",
                        role,
                        terms,
                        headroom.priorities,
                        f"{headroom.need_bytes:,} B",
                        f"{headroom.partition_bytes:,} B",
                        used,
                        "" if headroom.published_bytes is None else f"{headroom.published_bytes:,} B",
                        *pools,
                        _fits(headroom),
                    )
                )
    return table("buffers", columns, rows)


def _fits(switch_headroom: Headroom) -> str:
    """Return a word that shows if a switch's headroom fits into its partition.

    - ``yes``: it fits.
    - ``NO``: the partition is too small.
    - ``short``: it fits into the whole buffer, but not after subtracting the published sizes of dedicated buffers.
    - ``thin``: it fits, but little is left, and no sizes of dedicated buffers are published.
    """
    if not switch_headroom.fits:
        return "NO"
    if not switch_headroom.is_thin:
        return "yes"
    return "thin" if switch_headroom.published_bytes is None else "short"


def addresses_table(network: Network, strokes: Strokes) -> dict[str, Any]:
    """Return the table of NICs and addresses, which the page expands to a row per NIC and path color (class of uplinks).

    - ``nics``: a table of NICs.
    - ``segment``: for each NIC, an index into ``segments``, whose members are ``[color, stem, prefix length]`` per address. The
      stem is the part of an address before the interface identifier.
    - ``hosts``: for each NIC, its interface identifier if it is the same after all stems. Otherwise, a list of
      ``[color, address, prefix length, origin]``.
    - ``rows``: the number of addresses.

    The parameter ``strokes`` has the drawing styles of path colors.
    """
    color = _color_cell(network, strokes)
    several = len(network.fabrics) > 1
    places: dict[tuple[str, str, int, str, str], int] = {}
    coded: list[list[tuple[str, str, int]]] = []
    for network_segment in network.segments:
        places[network_segment.key] = len(coded)
        coded.append(
            [(color(network_segment.fabric, net.color), *_stem(net.prefix)) for net in network_segment.subnets]
        )
    nics = [(server, nic) for server in network.servers for nic in server.nics]
    columns = (
        ("Server", "mono"), ("NIC", "mono"), ("RDMA device", "mono"), ("Fabric", "word"), ("Rail", "number"),
        ("Leaf", "mono"), ("Leaf port", "mono"), ("VLAN", "number"), ("MAC", "mono"), ("MAC is", "word"),
    )  # fmt: skip
    rows = [
        (
            server.name,
            nic.name if nic.netdev == nic.name else f"{nic.name} ({nic.netdev})",
            nic.rdma,
            nic.fabric if several else "",
            nic.rail,
            nic.leaf,
            nic.leaf_port,
            nic.vlan or "",
            nic.mac,
            "placeholder" if nic.mac_is_placeholder else "",
        )
        for server, nic in nics
    ]
    segment = [places[network.segment_of(server.name, nic).key] for server, nic in nics]
    return {
        "id": "addresses",
        "nics": table("nics", columns, rows),
        "segment": segment,
        "segments": coded,
        "hosts": [_host(nic, coded[place], color) for (_, nic), place in zip(nics, segment, strict=True)],
        "rows": sum(len(nic.addresses) for _, nic in nics),
    }


def _stem(prefix: str) -> tuple[str, int]:
    """Return (the text with which all addresses of a prefix begin, the prefix length).

    The text is empty unless the prefix ends after four groups of an IPv6 address.
    """
    base, _, length = prefix.partition("/")
    return (base.removesuffix("::") + ":" if base.endswith("::") and base.count(":") == 5 else ""), int(length)


def _host(
    nic: Nic, nets: list[tuple[str, str, int]], color: Callable[[str, int | None], str]
) -> str | list[list[object]]:
    """Return the interface identifier that all addresses of a NIC have in common. If there is none, return the list of addresses.

    ``nets`` has (color, stem, prefix length) of the NIC's segment. The stem is the part of an address before the interface
    identifier. ``color`` returns the cell text of a path color.
    """
    stems = [stem for _, stem, _ in nets]
    texts = [address.address for address in nic.addresses]
    regular = len(stems) == len(texts) and all(stems) and all(address.origin == "slaac" for address in nic.addresses)
    if regular and all(text.startswith(stem) for text, stem in zip(texts, stems, strict=True)):
        hosts = {text.removeprefix(stem) for text, stem in zip(texts, stems, strict=True)}
        ordered = [color(nic.fabric, address.color) for address in nic.addresses] == [name for name, _, _ in nets]
        if len(hosts) == 1 and ordered:
            return hosts.pop()
    return [
        [color(nic.fabric, address.color), address.address, address.prefix_length, address.origin]
        for address in nic.addresses
    ]


def _color_cell(network: Network, strokes: Strokes) -> Callable[[str, int | None], str]:
    """Return a function that takes a fabric's name and a path color's index, and returns the cell text ``SWATCH NAME`` of the color.

    For the index None, the text is empty. ``strokes`` has the drawing styles of path colors (classes of uplinks).
    """
    names = {
        (fabric.name, color.index): f"{swatch_class(strokes[fabric.name][color.index])} {color.name}"
        for fabric in network.fabrics
        for color in fabric.colors
    }
    return lambda fabric, index: "" if index is None else names[fabric, index]
