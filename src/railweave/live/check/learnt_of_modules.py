"""What switches say of the modules in their ports: part numbers, serial numbers, and the length of cables that are part of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.interfaces import of_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.network.devices import End
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.ports import Optic

_NONE = {"", "n/a", "none", "unknown"}
"""What devices write where there is no module, or one that does not say."""


def modules(network: Network, states: Mapping[str, DeviceState]) -> Iterator[tuple[End, str, str]]:
    """A switch's port, a column of the inventory and its value; the first cabled port of several that share a module has it."""
    done: set[tuple[str, str | int]] = set()
    for cable in network.cables:
        for end in (cable.a, cable.b):
            optic = _optic(end, states)
            if end.module in done or optic is None or optic.present is False:
                continue
            done.add(end.module)
            for column, value in (("part", optic.part), ("serial", optic.serial)):
                if value is not None and value.strip().lower() not in _NONE:
                    yield end, column, value.strip()


def lengths(network: Network, states: Mapping[str, DeviceState], notes: list[str]) -> Iterator[tuple[End, End, float]]:
    """Cables of which a module says how long they are: the port that says so, the other, and metres. Two that disagree are a note."""
    for cable in network.cables:
        said = [
            (end, optic.cable_m)
            for end in (cable.a, cable.b)
            if (optic := _optic(end, states)) is not None and optic.cable_m is not None
        ]
        if len({metres for _, metres in said}) > 1:
            told = " and ".join(f"{metres:g} m by {end.device} {end.port}" for end, metres in said)
            notes.append(f"the cable {cable.name} is said to have {told}: none was taken")
        elif said:
            here, metres = said[0]
            yield here, cable.b if here is cable.a else cable.a, metres


def _optic(end: End, states: Mapping[str, DeviceState]) -> Optic | None:
    """The module in a port: devices name it by the port, or by the cage that its channels share."""
    state = states.get(end.device)
    if state is None or not state.optics:
        return None
    names = (end.port, end.port.partition(":")[0], end.port.rpartition("/")[0])
    return next((found for name in names if (found := of_port(state.optics, name)) is not None), None)
