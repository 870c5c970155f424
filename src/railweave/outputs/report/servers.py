"""Servers: how their NICs, kernels and jobs are configured, and in which order their files are put in place.

One server of each model and set of fabrics is resolved: the others differ in names, addresses and MACs alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.rdma import rdma_mtu
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.nic_qos import vendors_files
from railweave.outputs.rendering.network import server_files
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import span

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""Steps of bringing a server up, with their files (docs/howto/bring-up-a-gpu-server.md); what is left are jobs. Files that a
NIC's vendor has beside ``nic-qos.sh`` go with it."""


def servers_decisions(network: Network) -> list[Decision]:
    """One statement per server model and set of fabrics."""
    groups: dict[tuple[str, tuple[str, ...]], list[Server]] = {}
    for server in network.servers:
        fabrics = tuple(dict.fromkeys(nic.fabric for nic in server.nics))
        groups.setdefault((server.model, fabrics), []).append(server)
    return [_statement(network, model, members) for (model, _), members in groups.items()]


def placeholders(network: Network) -> str:
    """How many MAC addresses are not known yet, in a sentence; empty where all are."""
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
    facts: list[tuple[str, str]] = [("Servers", span([one.name for one in members]))]
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
    """How many NICs a server has on the network, and with how many ports, where that is another number."""
    model = catalog().servers.get(server.model)
    fabrics = {one.name: one for one in network.fabrics}
    found: set[tuple[str, int]] = set()
    for nic in server.nics:
        fabric = fabrics[nic.fabric]
        found.add(model.card(fabric.nics, nic.rail) if model else (fabric.name, fabric.nic_number(nic.rail)))
    nics = counted(len(found), "NIC")
    return nics if len(found) == len(server.nics) else f"{nics} with {counted(len(server.nics), 'port')}"


def _nics(nics: Sequence[HostNic]) -> str:
    kinds = Counter((nic.model, nic.speed_gbps) for nic in nics)
    first, last = nics[0], nics[-1]
    words = ", ".join(f"{count} x {model} at {speed}G" for (model, speed), count in kinds.items())
    ends = dict.fromkeys(f"{one.netdev} ({one.rdma})" for one in (first, last))
    return f"{words}, driver {first.driver}: {' to '.join(ends)}, {counted(len(first.addresses), 'address', 'addresses')} each"


def _qos(qos: HostQos) -> str:
    others = ", ".join(f"{one.name} (priority {one.priority})" for one in qos.other_lossless)
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
    given = {one.name: one.value for one in job}
    pairs = given.get("NCCL_IB_QPS_PER_CONNECTION")
    plugin = given.get("NCCL_NET_PLUGIN")
    words = [config.library]
    words.append(
        f"{counted(int(pairs), 'queue pair')} a connection" if pairs else "the library's own number of queue pairs"
    )
    words.append(f"net plug-in {plugin}" if plugin else "no net plug-in")
    return ", ".join(words)


def _environment(job: Sequence[Variable]) -> Grid:
    rows = tuple((one.name, "found when a job starts" if one.resolve else one.value, one.why) for one in job)
    return Grid(("Variable of a job", "Value", "Why"), rows)


def _firmware(nics: Sequence[HostNic]) -> Grid:
    options = dict.fromkeys(option for nic in nics for option in nic.firmware)
    rows = tuple((one.name, one.value or "reported only", one.why) for one in options)
    return Grid(("NIC firmware option", "Value", "Why"), rows)


def _files(config: HostConfig) -> Grid:
    there = [path.removeprefix(f"hosts/{config.name}/") for path in server_files(config)]
    order = [(step, (*files, *vendors_files()) if "nic-qos.sh" in files else files) for step, files in ORDER]
    rows = [(step, ", ".join(one for one in files if one in there)) for step, files in order]
    named = {one for _, files in order for one in files}
    rows.append(("Environment of jobs", ", ".join(one for one in there if one not in named)))
    kept = [row for row in rows if row[1]]
    return Grid(
        (f"Files of hosts/{config.name}/, in order", ""),
        tuple((f"{k}. {step}", names) for k, (step, names) in enumerate(kept, 1)),
    )
