"""``HostConfig``: the typed configuration of one server, with the settings of each NIC. It corresponds to ``DeviceConfig`` for switches.

``outputs.rendering.host`` prints it and makes no decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address of a NIC with its routing.

    - ``gateway``: the leaf's address in the same prefix.
    - ``table``: the routing table for traffic from the address.
    - ``path``: the number of the address on its NIC, from 1.
    - ``color``: the number N of the path color ``color:0:N``; None if paths are not colored.
    - ``spines``: the names of the spines of the path color.
    - ``traffic_class`` and ``service_level``: the values for this color; None means the values of the NIC.
    """

    address: Address
    prefix: Prefix
    origin: Literal["slaac", "static"]
    gateway: Address
    table: int
    table_name: str
    path: int
    color: int | None
    color_name: str
    spines: tuple[str, ...] = ()
    traffic_class: int | None = None
    service_level: int | None = None

    @property
    def prefix_length(self) -> int:
        """The length of the prefix in bits."""
        return self.prefix.length


@dataclass(frozen=True, slots=True)
class FirmwareOption:
    """A setting in a NIC's flash memory.

    - ``value``: the value as the vendor's tool expects it. If empty, railweave only reports the setting.
    - ``per_function``: True if each PCI function has its own copy of the setting.
    """

    name: str
    value: str
    per_function: bool
    why: str


@dataclass(frozen=True, slots=True)
class BiosOption:
    """A setting in the menu of the server's BIOS.

    ``verify`` explains how to check the setting from Linux; it is empty if no method is known.
    """

    area: str
    setting: str
    value: str
    note: str
    verify: str


@dataclass(frozen=True, slots=True)
class HostNic:
    """A NIC on a fabric.

    - ``gpu``: the index, from 0, of the GPU next to the NIC; None if the NIC does not belong to a GPU.
    - ``network``: the name of the tenant's layer-2 network in which the NIC is; empty if it is in none.
    - ``main_routes``: destinations that the main table routes through the gateway of the NIC's first address.
    - ``leaf_port_names``: other names by which the leaf may announce its port.
    - ``cable_m``: the cable length in metres, rounded up; None if there is no cable yet.
    - ``optic``: the name of the optic or copper cable in the NIC's port; empty if there is no cable yet.
    - ``wavelength_nm``: the shortest and the longest wavelength that the optic may send; None if not known or copper.
    """

    name: str
    netdev: str
    rdma: str
    rdma_port: int
    mac: str
    mac_is_placeholder: bool
    model: str
    vendor: str
    driver: str
    gpu: int | None
    fabric: str
    stripe: str
    rail: int
    leaf: str
    leaf_port: str
    leaf_port_names: tuple[str, ...]
    speed_gbps: int
    cable_m: int | None
    optic: str
    wavelength_nm: tuple[float, float] | None
    mtu: int
    slaac: bool
    addresses: tuple[HostAddress, ...]
    firmware: tuple[FirmwareOption, ...]
    tenant: str = ""
    network: str = ""
    main_routes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRoute:
    """A route in a routing table to a prefix, or to ``default``.

    - ``via``: the gateway's address; None if the prefix is on the link.
    - ``scope``: ``global`` for the default route of a routed link; None if no scope is given.
    """

    table: int
    to: Prefix | Literal["default"]
    dev: str
    via: Address | None
    scope: Literal["global"] | None = None


@dataclass(frozen=True, slots=True)
class HostRule:
    """A policy routing rule that selects a table by source (``from_``) or destination (``to``).

    If ``priority`` is None, the kernel chooses the priority.
    """

    dev: str
    table: int
    from_: Address | Prefix | None
    to: InterfaceAddress | None
    priority: int | None


@dataclass(frozen=True, slots=True)
class LosslessClass:
    """A lossless class other than RDMA data, such as storage: its DSCPs, its priority, and its share of the NIC's bandwidth in percent.

    ``ecn`` is True if switches mark its packets.
    """

    name: str
    dscp: tuple[int, ...]
    priority: int
    ecn: bool
    bandwidth_percent: int


@dataclass(frozen=True, slots=True)
class HostQos:
    """The QoS values on which the NICs and the switches of a fabric must agree.

    - ``traffic_class``: the IPv4 TOS or IPv6 traffic class byte of RDMA data, which is DSCP x 4, plus ECT(0).
    - ``bandwidth_percent``: the share of the lossless traffic class in the NIC's own scheduler.
    - ``ecn``: True if switches mark the data, so that NICs slow down in response.
    - ``clear_to_send_traffic_class``: the IPv4 TOS or IPv6 traffic class byte of clear-to-send messages; None if the data
      has the same byte.
    - ``priorities``: the NIC's priority of every DSCP, 0 to 63.
    - ``other_lossless``: further classes for which switches send PFC pause frames.
    """

    fabric: str
    dscp: int
    priority: int
    traffic_class: int
    lossless: bool
    cnp_dscp: int
    cnp_priority: int
    bandwidth_percent: int
    adaptive_routing: bool
    ecn: bool
    priorities: tuple[int, ...]
    clear_to_send_traffic_class: int | None = None
    other_lossless: tuple[LosslessClass, ...] = ()

    @property
    def paused(self) -> tuple[int, ...]:
        """The priorities for which PFC is on."""
        return (
            *((self.priority,) if self.lossless else ()),
            *(lossless_class.priority for lossless_class in self.other_lossless),
        )

    @property
    def slows_down(self) -> bool:
        """True if the NIC needs congestion control, because switches mark RDMA data or packets of a further lossless class."""
        return self.ecn or any(lossless_class.ecn for lossless_class in self.other_lossless)


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of a job.

    If ``resolve`` is True, the value is determined on the server when a job starts. ``$NAME`` in a value is then replaced by the
    current value of variable NAME on the server. If NAME is empty or unset, a colon after ``$NAME`` is dropped too.
    """

    name: str
    value: str
    why: str
    resolve: bool = False


@dataclass(frozen=True, slots=True)
class Versions:
    """Software versions that a server should run. Empty fields are not compared.

    Members of ``nic_firmware`` are (NIC model, version), of ``nic_driver`` (driver name, version), and of ``software`` (software, version).
    """

    kernel: str = ""
    gpu_driver: str = ""
    collective_library: str = ""
    nic_firmware: tuple[tuple[str, str], ...] = ()
    nic_driver: tuple[tuple[str, str], ...] = ()
    software: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HostConfig:
    """The whole configuration of one server.

    - ``bfd_detection_ms``: the BFD detection time, by fabric.
    - ``job``: the environment of the server's collective jobs; empty if its GPUs belong to several tenants.
    - ``tenant_jobs``: (tenant, environment of this tenant's jobs) for each tenant, if the GPUs belong to several tenants.
    - ``domain_gpus``: the number of GPUs of a full NVLink domain if the domain joins several servers, else None.
    """

    network: str
    name: str
    model: str
    gpus: int
    gpu: str
    gpu_vendor: Literal["NVIDIA", "AMD", ""]
    cpu_vendor: Literal["Intel", "AMD", "NVIDIA"]
    advertisements_by: Literal["networkd", "kernel"]
    nics: tuple[HostNic, ...]
    routes: tuple[HostRoute, ...]
    rules: tuple[HostRule, ...]
    qos: tuple[HostQos, ...]
    bfd_detection_ms: dict[str, int]
    sysctl: dict[str, str]
    kernel_command_line: tuple[str, ...]
    kernel_command_line_source: str
    bios: tuple[BiosOption, ...]
    bios_source: str
    library: Literal["NCCL", "RCCL"]
    job: tuple[Variable, ...]
    tenant_jobs: tuple[tuple[str, tuple[Variable, ...]], ...] = ()
    versions: Versions = Versions()
    memory_gib: int | None = None
    domain_gpus: int | None = None

    def qos_of(self, fabric: str) -> HostQos:
        """Return the QoS settings of the NICs on a fabric."""
        return next(fabric_qos for fabric_qos in self.qos if fabric_qos.fabric == fabric)

    def nics_of(self, fabric: str) -> list[HostNic]:
        """Return the NICs on a fabric, in rail order."""
        return [nic for nic in self.nics if nic.fabric == fabric]
