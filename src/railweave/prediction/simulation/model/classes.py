"""Which classes and ports of switches are simulated, and what is told of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.device.classes import TrafficClass
    from railweave.model.device.model import DeviceConfig, QosConfig


def class_of(qos: QosConfig, dscp: int) -> TrafficClass | None:
    """The class that a switch puts a DSCP into; that of DSCP 0 where none names it."""
    named = next((one for one in qos.classes.values() if dscp in one.dscp), None)
    return named or next((one for one in qos.classes.values() if 0 in one.dscp), None)


def unpaused(config: DeviceConfig) -> list[str]:
    """The links by whose ports a switch neither pauses its neighbor nor listens to it."""
    return [one.link for one in config.interfaces if not one.pauses]


def unbound(config: DeviceConfig) -> list[str]:
    """The links of ports that a switch's quality of service is not bound to; none where it has none anywhere."""
    if config.qos is None:
        return []
    bound = set(config.qos.ports)
    return [one.link for one in config.interfaces if one.name not in bound]


def is_taken_off(config: DeviceConfig) -> bool:
    """Whether a switch could have quality of service and has none: it is one of best effort."""
    return config.qos is None and catalog().systems[config.nos].has("qos", config.release)


def remarks(configs: Sequence[DeviceConfig], data_dscp: int) -> Iterator[str]:
    """What switches have and nobody simulates, or do not have although others do. ``data_dscp``: that of RDMA data."""
    off = [config.name for config in configs if is_taken_off(config)]
    if off:
        yield (
            f"{_some(off)}: quality of service is off at all ports, so {'it' if len(off) == 1 else 'they'} neither "
            f"{'pauses nor marks' if len(off) == 1 else 'pause nor mark'}, and one class has all traffic"
        )
    ports = [
        f"{config.name} {one.name}"
        for config in configs
        for links in [set(unbound(config))]
        for one in config.interfaces
        if one.link in links
    ]
    if ports:
        yield (
            f"quality of service is off at {counted(len(ports), 'port')} ({_some(ports)}): they neither pause nor mark; what comes "
            "in by them is taken to be in its class, and on the switch it is best effort"
        )
    yield from _other_lossless(configs, data_dscp)


def _other_lossless(configs: Sequence[DeviceConfig], data_dscp: int) -> Iterator[str]:
    """Lossless classes beside that of RDMA data: nobody sends in them."""
    with_qos = [config.qos for config in configs if config.qos is not None]
    own = [(name, one) for qos in with_qos for name, one in qos.classes.items() if one is class_of(qos, data_dscp)]
    if not own:
        return
    name, data = next((pair for pair in own if pair[1].lossless), own[0])
    lossless = dict.fromkeys(key for qos in with_qos for key, one in qos.classes.items() if one.lossless)
    others = [key for key in lossless if key not in {mine for mine, _ in own}]
    if others:
        share = "what other classes leave" if data.transmit_percent is None else f"{data.transmit_percent} %"
        yield (
            f"only RDMA data is simulated, in class {name} ({share} of a port that is full); nothing is sent in {' and '.join(others)}, "
            f"which {'is' if len(others) == 1 else 'are'} lossless too, so data has the whole port"
        )


def _some(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
