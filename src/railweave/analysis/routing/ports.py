"""NICs by name, and the ports of one NIC that collective libraries merge into one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from railweave.model.network.devices import Nic
    from railweave.model.network.model import Network

PLUS = "+"
"""Between the names of merged devices, as NCCL has it in its log: mlx5_0+mlx5_1."""


def find_nic(network: Network, name: str) -> tuple[str, Nic]:
    """``SERVER:NIC`` (NIC, interface or RDMA name) as the server's name and its NIC. Raises ``InputError``."""
    server_name, _, nic_name = name.partition(":")
    names = [server.name for server in network.servers]
    if server_name not in names:
        raise InputError(
            [Problem(NetworkPart(name), f"there is no server {server_name!r}", f"servers are {_some(names)}")]
        )
    server = network.server(server_name)
    if not nic_name and server.nics:
        what, fix = f"no NIC of {server_name} is named", f"write HOST:NIC, as {server_name}:{server.nics[0].name}"
        raise InputError(
            [Problem(NetworkPart(server_name), what, f"{fix}; its NICs are {_some([n.name for n in server.nics])}")]
        )
    nic = server.nic(nic_name)
    if nic is None:
        raise InputError(
            [
                Problem(
                    NetworkPart(name),
                    f"{server_name} has no NIC {nic_name!r}",
                    f"its NICs are {_some([n.name for n in server.nics])}",
                )
            ]
        )
    return server_name, nic


def find_ports(network: Network, name: str) -> tuple[str, tuple[Nic, ...]]:
    """``SERVER:PORT+PORT`` as the server's name and these ports of one NIC, or ``SERVER:NIC`` as one.

    Raises ``InputError`` for a name that is not there, and for ports of different NICs.
    """
    server, _, rest = name.partition(":")
    found = [find_nic(network, f"{server}:{one}")[1] for one in rest.split(PLUS)]
    first, number = found[0], nic_number(network, found[0])
    for other in found[1:]:
        if nic_number(network, other) != number:
            own = [nic.name for nic in network.server(server).nics if nic_number(network, nic) == number]
            what = f"{first.name} and {other.name} are not ports of one NIC"
            fix = f"{first.name} is of {server}:{PLUS.join(own)}" if len(own) > 1 else "name one NIC"
            raise InputError([Problem(NetworkPart(name), what, fix)])
    if len({nic.name for nic in found}) < len(found):
        raise InputError([Problem(NetworkPart(name), f"{name!r} names a port twice", "name each once")])
    return server, tuple(found)


def nic_number(network: Network, nic: Nic) -> tuple[str, int]:
    """What tells the NICs of a server apart, whatever ports they have."""
    return nic.fabric, network.fabric(nic.fabric).nic_number(nic.rail)


def plane_of(network: Network, nic: Nic) -> int:
    """Which port of its NIC it is, from 0: ports of one number are of one plane."""
    adapters = network.fabric(nic.fabric).adapters
    return (nic.rail - 1) // adapters if adapters else 0


def port_pairs(network: Network, sources: tuple[Nic, ...], targets: tuple[Nic, ...]) -> list[tuple[Nic, Nic]]:
    """Which port of one NIC sends to which of the other: those of one plane, in the order of the first; a single one to any."""
    if len(sources) == len(targets) == 1:
        return [(sources[0], targets[0])]
    there = {plane_of(network, nic): nic for nic in targets}
    return [(nic, there[plane]) for nic in sources if (plane := plane_of(network, nic)) in there]


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
