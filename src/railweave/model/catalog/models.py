"""The catalog as one value: hardware, operating systems, host limits and physics."""

from __future__ import annotations

from pydantic import model_validator

from railweave.model.catalog.hardware import Hardware, NicModel, Optic, ServerModel, SwitchModel
from railweave.model.catalog.systems import System, release_key
from railweave.model.intent.base import Model

QUANTUM_BYTES = 64
"""Bytes in a pause quantum, which is 512 bit times (IEEE 802.3, 31B.2)."""


class Kernel(Model):
    """Limits of Linux hosts, and of the protocols between hosts and leaves.

    - ``max_addresses``: the largest number of autoconfigured IPv6 addresses of an interface, including the link-local address.
    - ``neighbor_gc_thresh``: the three default sizes of the neighbor table, ``gc_thresh1`` to ``gc_thresh3``.
    - ``rt_table_first``, ``rt_table_last``: the lowest and the highest number that a routing table may have.
    - ``ra_header_bytes``, ``ra_prefix_option_bytes``: the sizes of a router advertisement's header, and of one prefix in it.
    - ``ifname_length``: the longest name of an interface, in characters.
    """

    max_addresses: int
    max_addresses_source: str
    neighbor_gc_thresh: tuple[int, int, int]
    neighbor_gc_thresh_source: str
    rt_table_first: int
    rt_table_last: int
    rt_table_source: str
    ra_header_bytes: int
    ra_prefix_option_bytes: int
    ra_source: str
    ifname_length: int
    ifname_source: str


class Physics(Model):
    """Constants for headroom arithmetic: propagation delay and pause response times.

    - ``velocity_factor``: the speed of the signal in the cable, as a fraction of the speed of light.
    - ``response_quanta``: by speed in Gb/s, the pause quanta (512 bit times) within which a peer must stop.
    - ``pipeline_ns``: the pipeline delay in ns of chips whose own delay is not documented.
    """

    velocity_factor: float
    light_m_per_s: float
    response_quanta: dict[int, int]
    pipeline_ns: float
    source: str

    def response_bytes(self, speed_gbps: int) -> float:
        """Return the bytes that a peer still sends at a port speed after it receives PFC XOFF.

        A speed without an entry uses the quanta of the next higher speed. Above the highest listed speed, the response time of the highest
        listed speed is used.
        """
        speeds = sorted(self.response_quanta)
        speed = next((speed for speed in speeds if speed >= speed_gbps), speeds[-1])
        return self.response_quanta[speed] * QUANTUM_BYTES * max(1.0, speed_gbps / speed)


class Catalog(Model):
    """The whole catalog.

    The first fields have models by name. ``own_hardware`` holds the models that users describe in their own files.
    """

    switches: dict[str, SwitchModel]
    systems: dict[str, System]
    nics: dict[str, NicModel]
    servers: dict[str, ServerModel]
    optics: dict[str, Optic]
    kernel: Kernel
    physics: Physics
    own_hardware: Hardware = Hardware()

    def release_of(self, nos: str, model: str) -> str:
        """Return the default release of an operating system on a switch model.

        The default is the system's default release, or the first release that supports the model if that release is
        newer.
        """
        system, switch = self.systems[nos], self.switches.get(model)
        first = switch.first_releases.get(nos) if switch else None
        return max(system.release, first.release if first else "", key=release_key)

    def with_hardware(self, more: Hardware) -> Catalog:
        """Return the catalog with more models. An added model replaces a model of the same name."""
        if more.empty:
            return self
        hardware = self.own_hardware.with_more(more)
        return self.model_copy(
            update={
                "switches": {**self.switches, **more.switches},
                "nics": {**self.nics, **more.nics},
                "servers": {**self.servers, **more.servers},
                "optics": {**self.optics, **more.optics},
                "own_hardware": hardware,
            }
        )

    @model_validator(mode="after")
    def _runs_on(self) -> Catalog:
        """Add to each switch model the operating systems whose field ``runs_on`` lists the model."""
        for name, model in self.switches.items():
            more = [nos for nos, system in self.systems.items() if name in system.runs_on and nos not in model.systems]
            if more:
                self.switches[name] = model.model_copy(update={"systems": (*model.systems, *more)})
        return self
