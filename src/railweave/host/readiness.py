"""The readiness of the planned NICs (present, up, with their addresses), and a function that waits for it."""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import kernel

if TYPE_CHECKING:
    from .host_file import HostFile, Nic, PathAddress

_POLL_S = 0.25


@dataclass(frozen=True)
class NicState:
    """The present state of a NIC.

    - ``there``: True if the interface exists. ``mtu``: its MTU; None if the interface does not exist.
    - ``blocked``: the reason why no traffic can be routed through the NIC; empty if there is none.
    - ``addresses``: for each path of the NIC in ``host.json``, the address of the path, or None; empty if the interface
      does not exist.
    - ``missing``: sentences about missing addresses.
    - ``notes``: sentences about other differences from the plan.
    """

    netdev: str
    there: bool
    up: bool
    carrier: bool
    mtu: int | None
    blocked: str
    addresses: tuple[str | None, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def read(plan: HostFile) -> list[NicState]:
    """Return the state of every NIC in the plan. Raises HostError if ``ip`` fails."""
    shown = {link["ifname"]: link for link in kernel.ip_json("addr", "show")}
    return [_state(nic, shown.get(nic.netdev)) for nic in plan.nics]


def wait(plan: HostFile, seconds: float) -> list[NicState]:
    """Wait until no address is missing, for at most ``seconds``, and return the state of every NIC. Raises HostError if ``ip`` fails."""
    end = time.monotonic() + seconds
    while True:
        states = read(plan)
        left = end - time.monotonic()
        if left <= 0 or not any(state.blocked or state.missing for state in states):
            return states
        time.sleep(min(_POLL_S, left))


def _state(nic: Nic, link: dict[str, Any] | None) -> NicState:
    if link is None:
        return NicState(nic.netdev, False, False, False, None, "there is no such interface", (), (), ())
    up, carrier, mtu = "UP" in link["flags"], "LOWER_UP" in link["flags"], int(link["mtu"])
    addresses = [address_of(path, link["addr_info"]) for path in nic.paths]
    missing = tuple(why for _, why in addresses if why)
    static4 = [why for path, (_, why) in zip(nic.paths, addresses) if why and path.prefix.version == 4]
    blocked = f"it is down: ip link set {nic.netdev} up" if not up else ""
    # IPv4 takes no route by a gateway that it has no address beside; IPv6 routes go by the prefix in the table.
    blocked = blocked or (static4[0] if static4 else "")
    notes: list[str] = []
    if up and not carrier:
        notes.append("no carrier: cable, optic or switch port")
    if mtu != nic.mtu:
        notes.append(f"MTU {mtu}, planned {nic.mtu}")
    if nic.mac is not None and nic.mac != link.get("address"):
        notes.append(f"MAC {link.get('address')}, planned {nic.mac}: another NIC, or another server's host.json")
    notes += [
        f"{address} in {path.prefix}, planned {path.address}"
        for path, (address, _) in zip(nic.paths, addresses)
        if address and path.address is not None and address != str(path.address)
    ]
    return NicState(
        nic.netdev, True, up, carrier, mtu, blocked, tuple(address for address, _ in addresses), missing, tuple(notes)
    )


def address_of(path: PathAddress, shown: list[dict[str, Any]]) -> tuple[str | None, str]:
    """Return (usable address of a path, empty text), or (None, reason). ``shown`` has the interface's addresses, from ``ip -j``.

    With SLAAC, any address in the prefix is usable; otherwise only the planned address is usable.
    """
    why = f"no address in {path.prefix}" if path.slaac or path.address is None else f"no address {path.address}"
    for row in shown:
        address = ipaddress.ip_address(row["local"]) if "local" in row else None
        if address is None or address not in path.prefix or (not path.slaac and address != path.address):
            continue
        bad = [key for key in ("temporary", "deprecated", "tentative", "dadfailed") if row.get(key)]
        if not bad:
            return str(address), ""
        if "temporary" not in bad:
            why = f"{address} is {' and '.join(bad)}" + (" (someone else has it)" if "dadfailed" in bad else "")
    return None, why
