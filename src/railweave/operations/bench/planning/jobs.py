"""The groups of servers that run collectives together.

The groups are: each server, each stripe (the servers on the same set of leaves), one server of each stripe, and all servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.network.devices import alternating
from railweave.prediction.simulation.job import stripes
from railweave.prediction.simulation.model.addresses import NONE, ports_of_hosts
from railweave.prediction.simulation.model.wiring import nic_group, servers, wire

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class Scope:
    """A request to run collectives on a group of servers. ``hosts`` has the servers in the order of their ranks.

    - ``part``: the group of runs in the plan: ``servers``, ``cluster`` or similar. ``what``: a description of the servers.
    - ``label``: distinguishes scopes of the same part, such as the server's name; empty if the part has only one scope.
    - ``alike``: a value that is equal for scopes with the same expected result. Such scopes have equally many servers of one
      kind, distributed over stripes in the same way.
    """

    part: str
    label: str
    what: str
    hosts: tuple[str, ...]
    alike: Hashable


@dataclass(frozen=True, slots=True)
class Job:
    """Servers that can run a job together: of the same tenant and model, with equal numbers of GPUs and NICs.

    - ``label``: distinguishes the job from the network's other jobs; empty if there are no others.
    - ``gpus``: the number of GPUs of a server.
    - ``gbps``: the total speed of a server's NICs in 10^9 bit/s.
    - ``stripe_of``: the stripe of each server (a stripe is the servers on the same set of leaves).
    """

    label: str
    tenant: str
    model: str
    hosts: tuple[str, ...]
    gpus: int
    gbps: int
    stripe_of: dict[str, str]

    def each(self) -> list[Scope]:
        """Return a scope (a group of servers to test together) for each single server."""
        return [Scope("servers", host, f"{host} alone", (host,), (self.label, "server")) for host in self.hosts]

    def stripes(self) -> list[Scope]:
        """Return a scope for each stripe (the servers on the same leaves) with several servers; empty if there is only one stripe."""
        by_stripe: dict[str, list[str]] = {}
        for host in self.hosts:
            by_stripe.setdefault(self.stripe_of[host], []).append(host)
        if len(by_stripe) < 2:
            return []
        return [
            Scope("stripes", name, f"the servers of {name}", tuple(hosts), (self.label, "stripe", len(hosts)))
            for name, hosts in by_stripe.items()
            if len(hosts) > 1
        ]

    def across(self) -> list[Scope]:
        """Return a list with one scope: the first server of each stripe. A stripe is the servers on the same leaves.

        The list is empty if the scope would have a single server, or all servers of the job.
        """
        first = {self.stripe_of[host]: host for host in reversed(self.hosts)}
        hosts = tuple(host for host in self.hosts if host in first.values())
        if len(hosts) < 2 or len(hosts) == len(self.hosts):
            return []
        return [Scope("across", "", "one server of each stripe", hosts, (self.label, "across"))]

    def cluster(self) -> list[Scope]:
        """Return a scope with all servers of the job, in a list; an empty list if the job has only one server."""
        return [Scope("cluster", "", "all servers", self.hosts, (self.label, "cluster"))] if len(self.hosts) > 1 else []

    def alternating(self) -> list[Scope]:
        """Return a list with one scope: all servers, in an order in which every hop of a ring crosses the spines.

        For this, the order alternates between stripes (the servers on the same leaves).
        """
        if len(self.hosts) < 2:
            return []
        hosts = tuple(alternating({host: self.stripe_of[host] for host in self.hosts}))
        description = "all servers" if hosts == self.hosts else "all servers, one of each stripe in turn"
        return [Scope("cluster", "", description, hosts, (self.label, "alternating"))]


def jobs(network: Network, hosts: Sequence[str]) -> list[Job]:
    """Return a job for each group of these servers that have the same tenant, model, and numbers of GPUs and NICs.

    Servers without GPUs next to the fabric's NICs are left out. A server whose GPUs belong to several tenants is in a job of each.
    """
    models = {server.name: server.model for server in network.servers}
    speed = {f"{server.name}:{nic.name}": nic.speed_gbps for server in network.servers for nic in server.nics}
    wiring = wire(network)
    ports: list[list[int]] = ports_of_hosts(network, wiring).tolist()
    stripe_of = stripes(network, [server.name for server in network.servers])
    tenants = [tenant.name for fabric in network.fabrics for tenant in fabric.tenants] or [""]
    by_key: dict[tuple[str, str, int, int], list[str]] = {}
    rates: dict[tuple[str, str, int, int], int] = {}
    for tenant in tenants:
        tenant_servers = {name: (nics, gpus) for name, nics, gpus in servers(network, wiring, tenant)}
        for name in hosts:
            model = catalog().servers.get(models[name])
            if name not in tenant_servers or model is None or not model.gpus or not _beside_gpus(network, name):
                continue
            nics, gpus = tenant_servers[name]
            key = (tenant, models[name], gpus, len(nics))
            by_key.setdefault(key, []).append(name)
            rates[key] = sum(speed[wiring.nics[port]] for nic in nics for port in ports[nic] if port != NONE)
    return [
        Job(_label(key, list(by_key)), key[0], key[1], tuple(names), key[2], rates[key], stripe_of)
        for key, names in by_key.items()
    ]


def _beside_gpus(network: Network, name: str) -> bool:
    server = network.server(name)
    group = nic_group(network, server, server.nics[0].fabric)
    return group is not None and group.per_gpu


def _label(key: tuple[str, str, int, int], keys: Sequence[tuple[str, str, int, int]]) -> str:
    """Return the shortest label that distinguishes a job from the others: empty, the tenant, or for example ``TENANT-MODEL``.

    ``key`` is (tenant, server model, GPUs, NICs) of the job. ``keys`` has such a key for every job.
    """
    if len(keys) < 2:
        return ""
    tenant, model, gpus, nics = key
    if sum(key[0] == tenant for key in keys) == 1:
        return tenant
    label = f"{tenant}-{model}" if tenant else model
    return label if sum(other_key[:2] == key[:2] for other_key in keys) == 1 else f"{label}-{gpus}-gpus-{nics}-nics"
