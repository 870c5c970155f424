"""The state that must hold on a server: its NICs with addresses and GIDs, and the routing rules and routes that separate their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.model.device.expected import Expectation
from railweave.model.device.host import host_config

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.device.host_model import HostNic, HostRoute, HostRule
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class PathAddress:
    """An address of a NIC, with the routing table for packets from this address.

    With SLAAC, ``address`` is None: any address in ``prefix`` is valid. ``path`` is the number of the address on its NIC.
    """

    prefix: Prefix
    address: Address | None
    path: int
    color: str
    table: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic(Expectation):
    """A NIC that must be up, with port ``peer_port`` of ``peer`` at the other end of its cable.

    - ``name``: the NIC's name in the design.
    - ``netdev``: the NIC's Linux interface.
    - ``rdma``: the NIC's RDMA device, which must have a RoCE v2 GID for each address.
    - ``mac``: the MAC address; empty if unknown.
    - ``mtu``: the IP MTU in bytes.
    """

    name: str
    netdev: str
    link: str
    peer: str
    peer_port: str
    rdma: str
    rdma_port: int
    mac: str
    speed_gbps: int
    mtu: int
    addresses: tuple[PathAddress, ...]
    kind: Literal["server"] = "server"

    @property
    def said_as(self) -> str:
        """The name by which the server reports the NIC."""
        return self.netdev


@dataclass(frozen=True, slots=True)
class ExpectedHost:
    """The state that must hold on one server, with the routing ``rules`` and ``routes`` of its NICs in service.

    ``because`` is the key path in the fabric file that requires the state.
    """

    device: str
    because: tuple[str, ...]
    nics: tuple[Nic, ...]
    rules: tuple[HostRule, ...]
    routes: tuple[HostRoute, ...]


def expected_host(network: Network, name: str) -> ExpectedHost:
    """Return the state that must hold on a server. NICs whose cable or leaf is absent are left out.

    Raises ``KeyError`` if the server does not exist.
    """
    config = host_config(network, name)
    links = {end.port: cable.name for cable in network.cables for end in (cable.a, cable.b) if end.device == name}
    because = ("servers",)
    nics = [nic for nic in config.nics if not network.absent & {nic.leaf, links.get(nic.name, "")}]
    there = {nic.netdev for nic in nics}
    return ExpectedHost(
        name,
        because,
        tuple(_nic(name, because, nic, links.get(nic.name, "")) for nic in nics),
        tuple(rule for rule in config.rules if rule.dev in there),
        tuple(route for route in config.routes if route.dev in there),
    )


def _nic(device: str, because: tuple[str, ...], nic: HostNic, link: str) -> Nic:
    return Nic(
        device=device,
        because=because,
        name=nic.name,
        netdev=nic.netdev,
        link=link,
        peer=nic.leaf,
        peer_port=nic.leaf_port,
        rdma=nic.rdma,
        rdma_port=nic.rdma_port,
        mac="" if nic.mac_is_placeholder else nic.mac,
        speed_gbps=nic.speed_gbps,
        mtu=nic.mtu,
        addresses=tuple(
            PathAddress(
                address.prefix,
                None if address.origin == "slaac" else address.address,
                address.path,
                address.color_name,
                address.table,
            )
            for address in nic.addresses
        ),
    )
