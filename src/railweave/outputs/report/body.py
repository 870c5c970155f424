"""The body of the report: bill of materials, forwarding, servers and decisions.

The body does not depend on findings, so it is created before the checks end.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from railweave.analysis.routing.table import UNREACHABLE, Routes
from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.rdma import rdma_mtu
from railweave.model.device.host import host_config
from railweave.model.intent.topology import Cabling
from railweave.model.network.status import present
from railweave.outputs.rendering.host.nic_qos import vendors_files
from railweave.outputs.rendering.network import server_files
from railweave.outputs.report.bom import Item, Prices, bill, cost, power
from railweave.outputs.report.capacity import capacity_grid, failures_decision, rail_capacities
from railweave.outputs.report.decisions.addressing import management_decision
from railweave.outputs.report.decisions.fabric import decisions
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import span
from railweave.outputs.report.tables import addresses_table, buffers_table, cables_table, switches_table, table
from railweave.outputs.report.topology.picture import MOST_ROWS, topology_svg
from railweave.pages.palette import network_strokes
from railweave.pages.shell import element, json_for_script, text
from railweave.pages.table import Table, columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.device.host_model import HostConfig, HostNic, HostQos, Variable
    from railweave.model.network.devices import Server
    from railweave.model.network.model import Network


ORDER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Settings of the server's firmware, by hand", ("bios.md",)),
    ("Options in the NICs' flash", ("nic-nvm.sh",)),
    (
        "Kernel, names of NICs, limits; then restart",
        (
            "grub-railweave.cfg", "limits.conf", "acs-off.sh", "acs-off.service", "sysctl.conf", "70-railweave-net.rules",
            "60-rdma-persistent-naming.rules",
        ),
    ),
    ("QoS of the NICs, at every start", ("nic-qos.sh", "nic-qos.service", "nic-qos@.service", "90-railweave-qos.rules", "nic-qos-resume.service")),
    (
        "Addresses, tables and rules: by netplan, or by the kernel, or by railweave host",
        (
            "rt_tables.conf", "netplan.yaml", "05-railweave-unmanaged.network", "networkd.conf", "networkmanager.conf", "net-setup.sh",
            "railweave-net.service", "host.json", "railweave-host.service",
        ),
    ),
)  # fmt: skip
"""The steps to bring up a server, each with its files (docs/howto/bring-up-a-gpu-server.md). Files that are not listed here are for jobs.

Vendors' files next to ``nic-qos.sh`` belong to the same step as ``nic-qos.sh``.
"""


def servers_decisions(network: Network) -> list[Decision]:
    """Return the decisions about servers: one for each combination of server model and fabrics."""
    groups: dict[tuple[str, tuple[str, ...]], list[Server]] = {}
    for server in network.servers:
        fabrics = tuple(dict.fromkeys(nic.fabric for nic in server.nics))
        groups.setdefault((server.model, fabrics), []).append(server)
    return [_statement(network, model, members) for (model, _), members in groups.items()]


def placeholders(network: Network) -> str:
    """Return a sentence with the number of MAC addresses that are still unknown; empty if all are known."""
    nics = [nic for server in network.servers for nic in server.nics]
    count = sum(nic.mac_is_placeholder for nic in nics)
    if not count:
        return ""
    return (
        f" {count:,} of {len(nics):,} MAC addresses are placeholders, and addresses that follow from them will change."
    )


def _statement(network: Network, model: str, members: Sequence[Server]) -> Decision:
    config = host_config(network, members[0].name)
    gpus = f"{counted(config.gpus, f'{config.gpu} GPU'.strip())}, " if config.gpus else ""
    facts: list[tuple[str, str]] = [("Servers", span([member.name for member in members]))]
    for qos in config.qos:
        more = f", {qos.fabric}" if len(config.qos) > 1 else ""
        nics = config.nics_of(qos.fabric)
        noun = "NIC ports" if network.fabric(qos.fabric).adapters else "NICs"
        facts += [(f"{noun}{more}", _nics(nics)), (f"QoS{more}", _qos(qos)), (f"MTU{more}", _mtu(nics))]
    tenant, job = config.tenant_jobs[0] if config.tenant_jobs else ("", config.job)
    if job:
        facts.append((f"Jobs, {tenant} (other tenants alike)" if tenant else "Jobs", _job(config, job)))
    if config.kernel_command_line:
        facts.append(
            (
                "Kernel",
                f"command line {' '.join(config.kernel_command_line)}; {counted(len(config.sysctl), 'sysctl value')}",
            )
        )
    return Decision(
        model,
        f"{counted(len(members), 'server')} with {gpus}{_cards(network, members[0])}",
        f"What {members[0].name} is configured with; the other servers of this model differ from it in names, addresses and MAC addresses.",
        tuple(facts),
        tuple(grid for grid in (_environment(job), _firmware(config.nics), _files(config)) if grid.rows),
    )


def _cards(network: Network, server: Server) -> str:
    """Return the number of a server's NICs on the network as text, with the number of their ports if that differs."""
    model = catalog().servers.get(server.model)
    fabrics = {fabric.name: fabric for fabric in network.fabrics}
    cards: set[tuple[str, int]] = set()
    for nic in server.nics:
        fabric = fabrics[nic.fabric]
        cards.add(model.card(fabric.nics, nic.rail) if model else (fabric.name, fabric.nic_number(nic.rail)))
    nics = counted(len(cards), "NIC")
    return nics if len(cards) == len(server.nics) else f"{nics} with {counted(len(server.nics), 'port')}"


def _nics(nics: Sequence[HostNic]) -> str:
    kinds = Counter((nic.model, nic.speed_gbps) for nic in nics)
    first, last = nics[0], nics[-1]
    words = ", ".join(f"{count} x {model} at {speed}G" for (model, speed), count in kinds.items())
    ends = dict.fromkeys(f"{end_nic.netdev} ({end_nic.rdma})" for end_nic in (first, last))
    return f"{words}, driver {first.driver}: {' to '.join(ends)}, {counted(len(first.addresses), 'address', 'addresses')} each"


def _qos(qos: HostQos) -> str:
    others = ", ".join(
        f"{lossless_class.name} (priority {lossless_class.priority})" for lossless_class in qos.other_lossless
    )
    only = f", as for {others}" if others else " only"
    paused = f"lossless (PFC on priority {qos.priority}{only})" if qos.lossless else "not paused"
    if others and not qos.lossless:
        paused += f" (PFC is on for {others} only)"
    slowed = "; slows down by ECN (DCQCN)" if qos.slows_down else ""
    routed = "; adaptive routing on" if qos.adaptive_routing else ""
    return (
        f"RDMA data: DSCP {qos.dscp}, priority {qos.priority}, traffic class byte {qos.traffic_class}, {paused}, "
        f"{qos.bandwidth_percent} % of the NIC's scheduler{slowed}{routed}. Congestion notification: DSCP {qos.cnp_dscp}, "
        f"priority {qos.cnp_priority}, strict"
    )


def _mtu(nics: Sequence[HostNic]) -> str:
    mtu = nics[0].mtu
    family = nics[0].addresses[0].address.family if nics[0].addresses else "ipv4"
    return f"{mtu:,} B, RDMA {rdma_mtu(mtu, family):,} B"


def _job(config: HostConfig, job: Sequence[Variable]) -> str:
    given = {variable.name: variable.value for variable in job}
    pairs = given.get("NCCL_IB_QPS_PER_CONNECTION")
    plugin = given.get("NCCL_NET_PLUGIN")
    words = [config.library]
    words.append(
        f"{counted(int(pairs), 'queue pair')} a connection" if pairs else "the library's own number of queue pairs"
    )
    words.append(f"net plug-in {plugin}" if plugin else "no net plug-in")
    return ", ".join(words)


def _environment(job: Sequence[Variable]) -> Grid:
    rows = tuple(
        (variable.name, "found when a job starts" if variable.resolve else variable.value, variable.why)
        for variable in job
    )
    return Grid(("Variable of a job", "Value", "Why"), rows)


def _firmware(nics: Sequence[HostNic]) -> Grid:
    options = dict.fromkeys(option for nic in nics for option in nic.firmware)
    rows = tuple((option.name, option.value or "reported only", option.why) for option in options)
    return Grid(("NIC firmware option", "Value", "Why"), rows)


def _files(config: HostConfig) -> Grid:
    there = [path.removeprefix(f"hosts/{config.name}/") for path in server_files(config)]
    order = [(step, (*files, *vendors_files()) if "nic-qos.sh" in files else files) for step, files in ORDER]
    rows = [(step, ", ".join(file for file in files if file in there)) for step, files in order]
    named = {file for _, files in order for file in files}
    rows.append(("Environment of jobs", ", ".join(name for name in there if name not in named)))
    kept = [row for row in rows if row[1]]
    return Grid(
        (f"Files of hosts/{config.name}/, in order", ""),
        tuple((f"{k}. {step}", names) for k, (step, names) in enumerate(kept, 1)),
    )


def forwarding(network: Network, routes: Routes) -> dict[str, Any]:
    """Return the forwarding tables of all switches as the JSON object that the page's script reads.

    - ``groups``: sets of links, as indexes of cables.
    - ``rows``: the distinct rows. A row has an index of ``groups`` for each prefix of a segment (the server subnets of a leaf).
    - ``devices``: for each switch, the index in ``rows`` of each segment's row.
    """
    places = {cable.name: place for place, cable in enumerate(network.cables)}
    wide = max((len(segment.subnets) for segment in network.segments), default=0)
    # Prefixes that are in no table, and missing prefixes of segments with fewer prefixes than others, use the last entry.
    index = np.full((len(network.segments), wide), len(routes.prefixes), dtype=np.int64)
    for row, segment in enumerate(network.segments):
        positions = [routes.index.get(subnet.routed_by, len(routes.prefixes)) for subnet in segment.subnets]
        index[row, : len(positions)] = positions
    groups: dict[int, int] = {}
    rows = _Rows()
    devices: dict[str, list[list[int]]] = {}
    for switch in network.switches:
        table = np.append(routes.fibs[switch.name].group, np.int32(UNREACHABLE))[index]
        devices[switch.name] = rows.runs(
            tuple(groups.setdefault(number, len(groups)) if number >= 0 else number for number in line)
            for line in cast("list[list[int]]", table.tolist())
        )
    absent = [
        place
        for place, candidate in enumerate(network.cables)
        if candidate.kind == "server" and candidate.name in network.absent
    ]
    return {
        "fabrics": [fabric.name for fabric in network.fabrics],
        "groups": [[places[link] for link in routes.groups[group]] for group in groups],
        "rows": rows.shown,
        "devices": devices,
        **({"absent": absent} if absent else {}),
        **({"tenants": _tenants(network, routes)} if any(fabric.tenants for fabric in network.fabrics) else {}),
    }


def _tenants(network: Network, routes: Routes) -> dict[str, Any]:
    """Return, as a JSON object, the prefixes in each tenant's table on each leaf, and the tenant and layer-2 network of each NIC.

    - ``keys``: the distinct pairs [tenant, layer-2 network].
    - ``nics``: a number for each NIC. It is the position of the NIC's pair in ``keys``.
    - ``held``: by ``LEAF/TENANT``, a number for each segment (the server subnets of a leaf). It is the position of a row in ``rows``.
    - ``rows``: the distinct rows. A row has a number for each prefix of a segment: 1 if the tenant's table on the leaf has the prefix, else
      0.

    To save space, ``nics`` and ``held`` store consecutive equal numbers as one pair [number, count], and ``rows`` stores a row of equal
    numbers as a single number.
    """
    every = [nic for server in network.servers for nic in server.nics]
    keys: dict[tuple[str, str], int] = {}
    nics = [keys.setdefault((nic.tenant, nic.network), len(keys)) for nic in every]
    rows = _Rows()
    held = {
        f"{leaf}/{tenant}": rows.runs(
            tuple(int(_holds(routes, leaf, tenant, segment.network, subnet.prefix)) for subnet in segment.subnets)
            for segment in network.segments
        )
        for leaf, tenant in sorted({(nic.leaf, nic.tenant) for nic in every})
    }
    return {"keys": [list(key) for key in keys], "nics": _joined(nics), "rows": rows.shown, "held": held}


def _holds(routes: Routes, leaf: str, tenant: str, bridged: str, prefix: str) -> bool:
    """Return True if a tenant's table on a leaf has a prefix. ``bridged`` is the layer-2 network of the prefix, or empty."""
    if bridged:
        return bool(routes.shared.leaves(leaf, tenant, prefix))
    return routes.held(leaf, tenant, prefix)


class _Rows:
    """The distinct rows of several tables. A table has one row per segment (the server subnets of a leaf), stored as an index."""

    def __init__(self) -> None:
        self._index: dict[tuple[int, ...], int] = {}

    def runs(self, table: Iterable[tuple[int, ...]]) -> list[list[int]]:
        """Store the rows of a table, and return it as [index of a row, number of consecutive equal rows] pairs."""
        return _joined([self._index.setdefault(row, len(self._index)) for row in table])

    @property
    def shown(self) -> list[int | list[int]]:
        """The distinct rows. A row of equal numbers is a single number."""
        return [row[0] if len(set(row)) == 1 else list(row) for row in self._index]


def _joined(indexes: list[int]) -> list[list[int]]:
    """Return ``indexes`` with consecutive equal numbers joined, as [number, number of repetitions] pairs."""
    return [[index, len(list(same))] for index, same in groupby(indexes)]


KINDS_DRAWN = {"switch": "switches", "server": "servers", "pluggable": "pluggables"}


def bill_table(network: Network, prices: Prices | None = None) -> dict[str, Any]:
    """Return the bill of materials as the JSON object of a table, with power in watts if known, and with cost if ``prices`` is given."""
    items = bill(network)
    shown = [(*_bill_row(item), _watts(item), *_priced(item, prices)) for item in items]
    drawn = power(items)
    if drawn.watts:
        kinds = ", ".join(f"{KINDS_DRAWN[kind]} {watts / 1000:,.1f} kW" for kind, watts in drawn.watts.items())
        missing = f"; not known: {', '.join(drawn.unknown)}" if drawn.unknown else ""
        shown.append(
            ("total", "", "", f"power at most: {kinds}{missing}", "", f"{sum(drawn.watts.values()):,.0f}", "", "")
        )
    if prices is not None:
        shown.append(("total", "", "", f"cost: {cost(items, prices)}", "", "", "", f"{cost(items, prices).total:,.0f}"))
    money = prices.currency if prices else ""
    columns = (
        ("Kind", "word"),
        ("Catalog name", "mono"),
        ("Count", "number"),
        ("Description", "text"),
        ("Used at", "text"),
        ("Watts at most", "number"),
        (f"Each, {money}", "number"),
        (f"All, {money}", "number"),
    )
    return table("bill", columns, shown)


def _bill_row(item: Item) -> tuple[str, str, str, str, str]:
    return item.kind, item.name, f"{item.count:,}", item.description, item.used_at


def _watts(item: Item) -> str:
    return "" if item.watts is None else f"{item.count * item.watts:,.0f}"


def _priced(item: Item, prices: Prices | None) -> tuple[str, str]:
    each = prices.each(item) if prices else None
    return ("", "") if each is None else (f"{each:,.2f}", f"{each * item.count:,.0f}")


class Body(NamedTuple):
    """The sections of a report as HTML markup, and its tables and forwarding tables as JSON.

    ``remarks`` maps a table's id to sentences about the table, such as the number of measured cables or of unknown MAC addresses.
    """

    picture: str
    paths: str
    capacity: str
    decisions: str
    servers: str
    remarks: dict[str, str]
    tables: tuple[str, ...]
    forwarding: str


def body_of(network: Network, routes: Routes, prices: Prices | None = None) -> Body:
    """Return the body of the report.

    ``routes`` are the forwarding tables without failures. ``prices`` has the prices of items in the bill of materials.
    """
    strokes = network_strokes(network)
    tables = (
        buffers_table(network),
        cables_table(network, strokes),
        addresses_table(network, strokes),
        switches_table(network),
        bill_table(network, prices),
    )
    return Body(
        _picture(network),
        _paths(network),
        _capacity(present(network), routes),
        _decisions(network),
        element(
            "div",
            *(_decision(decision) for decision in servers_decisions(network)),
            class_="cards wide-cards",
        ),
        {"cables": _lengths(network), "addresses": placeholders(network)},
        tuple(map(json_for_script, tables)),
        json_for_script(forwarding(network, routes)),
    )


def _picture(network: Network) -> str:
    hint = (
        "Point at a device to see its links, click to keep them; click a path color to see where it runs, "
        "a stripe of a large fabric to open it."
    )
    bar = element(
        "div",
        element("span", hint, id="selection", role="status"),
        '<button type="button" id="zoom" aria-pressed="false">Actual size</button>',
        class_="bar",
    )
    sentence = network.absent_sentence()
    bar += element("p", text(sentence[0].upper() + sentence[1:] + "."), class_="about") if sentence else ""
    # In a narrow window, the hidden part must not look cut off: if the picture has to be scrolled, the script shows this text.
    wider = (
        "The picture is wider than this window: scroll it sideways, or choose Whole picture to see all of it, smaller."
    )
    bar += element("p", wider, id="wider", hidden="")
    picture = element("div", topology_svg(network, MOST_ROWS), class_="picture", id="picture", tabindex=0)
    return bar + picture + '<div id="expanded"></div>'


def _paths(network: Network) -> str:
    """Return the markup of the form in which the reader chooses two NICs, or a note if no two NICs are on the same fabric."""
    fabric = network.fabrics[0].name
    nics = [(server, nic) for server in present(network).servers for nic in server.nics if nic.fabric == fabric]
    if len(nics) < 2:
        return element("p", "There are no two NICs on one fabric yet.", class_="about")
    server, source = nics[0]
    # The far end of the same rail shows the purpose of spines. If a rail has only one NIC, any other NIC serves.
    same_tenant = [nic for nic in reversed(nics) if nic[1].tenant == source.tenant and nic[0] is not server]
    there, target = next((nic for nic in same_tenant if nic[1].rail == source.rail), (same_tenant or [nics[-1]])[0])
    used = network.job_family(fabric, source.tenant) or (source.addresses[0].family if source.addresses else None)
    count = max(len(source.addresses_of(used)), 1)
    fields = [
        _field("source", "From", f"{server.name}:{source.name}"),
        _field("target", "To", f"{there.name}:{target.name}"),
        f'<label>Queue pairs <input id="path-count" type="number" min="1" max="64" value="{min(count, 64)}"></label>',
        *_families(network, used),
        '<button type="submit">Show</button><datalist id="path-nics"></datalist>',
    ]
    return element("form", *fields, id="path-form", class_="search") + element("div", "", id="path-result")


def _families(network: Network, used: str | None) -> list[str]:
    """Return the selector of the address family as markup; empty if no NIC has both families. ``used`` is preselected."""
    if not any(
        len({address.family for address in nic.addresses}) > 1 for server in network.servers for nic in server.nics
    ):
        return []
    options = [
        element("option", name, value=name.lower(), selected="selected" if name.lower() == used else None)
        for name in ("IPv4", "IPv6")
    ]
    return [element("label", "Family ", element("select", *options, id="path-family"))]


def _field(name: str, label: str, value: str) -> str:
    return element(
        "label",
        f"{label} ",
        element("input", id=f"path-{name}", list="path-nics", value=value, autocomplete="off", spellcheck="false"),
    )


def _capacity(network: Network, routes: Routes) -> str:
    several = len(network.fabrics) > 1
    parts: list[str] = []
    for fabric in network.fabrics:
        capacities = rail_capacities(network, fabric, routes)
        about, grid = capacity_grid(network, fabric, capacities)
        parts += [element("h3", text(f"Fabric {fabric.name}"))] if several else []
        parts += [element("p", text(about), class_="about"), element("div", _grid(grid), class_="table")]
        failures = failures_decision(network, fabric, routes, capacities)
        parts += [_decision(failures)] if failures else []
    return "".join(parts)


def _lengths(network: Network) -> str:
    """Return a sentence with the numbers of cable lengths that are measured, planned or defaults."""
    if not network.cables:
        return ""
    measured = sum(cable.measured for cable in network.cables)
    defaults = Cabling()
    planned = {"server": defaults.server.length, "fabric": defaults.fabric.length}
    if not measured and all(cable.length_m == planned[cable.kind] for cable in network.cables):
        return (
            f" No length is measured, and all are the defaults ({planned['server']:g} m to servers, "
            f"{planned['fabric']:g} m between switches): set cabling in the fabric file, or measure."
        )
    return f" {measured:,} of {len(network.cables):,} lengths are measured, the others as planned."


def _decisions(network: Network) -> str:
    several = len(network.fabrics) > 1
    parts: list[str] = []
    for fabric in network.fabrics:
        if several:
            parts.append(element("h3", text(f"Fabric {fabric.name}")))
        more = [] if several else [management_decision(network)]
        parts.append(
            element("div", *(_decision(decision) for decision in [*decisions(network, fabric), *more]), class_="cards")
        )
    if several:
        parts.append(
            element("h3", "All fabrics") + element("div", _decision(management_decision(network)), class_="cards")
        )
    return "".join(parts)


def _decision(decision: Decision) -> str:
    facts = "".join(element("dt", text(name)) + element("dd", text(value)) for name, value in decision.facts)
    return element(
        "article",
        element("h3", text(decision.title)),
        element("p", text(decision.chosen), class_="chosen"),
        element("p", text(decision.why), class_="why"),
        element("dl", facts) if facts else "",
        *(_grid(grid) for grid in decision.grids),
        class_="card",
    )


def _grid(grid: Grid) -> str:
    css = ["" if place not in grid.emphasis else "noted" if grid.noted else "short" for place in range(len(grid.rows))]
    return element("div", Table(columns(*grid.header), grid.rows, row_css=css).to_html(), class_="grid")
