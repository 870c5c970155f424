"""The settings of servers: routing, the handling of router advertisements, and the start of jobs."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, Field, field_validator

from railweave.model.intent.base import Model, Percent, WrongValueError, naming_pattern

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"


def _no_space(value: str) -> str:
    if any(character.isspace() for character in value):
        raise WrongValueError(f"{value!r} holds a space", "names of interfaces and plug-ins have no spaces")
    return value


Word = Annotated[str, AfterValidator(_no_space)]
"""Text without spaces."""


def _main_route(value: str) -> str:
    if value == "default":
        return value
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise WrongValueError(f"{value!r} is not a prefix ({error})", "write `default`, or 10.3.0.0/16") from None


MainRoute = Annotated[str, AfterValidator(_main_route)]
"""A destination prefix, or ``default``."""


class HostRouting(Model):
    """Source routing on a server: one routing table per NIC address, selected by a rule on the source address.

    Without source routing, Linux may send through any NIC, regardless of the address that a queue pair is bound to (RLB document,
    Tables 8 to 10; Thor2 guide, section 2.4).
    """

    first_table: int | None = Field(
        default=None,
        ge=1,
        le=4_294_967_295,
        description="number of the first table; empty: 10000 in the first fabric, and 1000 more in each next fabric",
    )
    table_name: Annotated[str, naming_pattern(nic="eth1", rail=1, gpu=0, path=1, color="green")] | None = Field(
        default=None,
        description="pattern for the name of a table; fields: {nic}, {rail} (from 1), {gpu} (from 0), {path} (number of "
        "the address on its NIC) and {color}; empty: gpu{gpu}_subnet{path} for NICs of GPUs with one port, "
        "else {nic}_subnet{path}",
    )
    prefix_route: bool | None = Field(
        default=None,
        description="put a route to the server prefix itself into every table; empty: only if servers share the NIC's "
        "prefix, and with SLAAC or proxy ARP",
    )
    main_routes: tuple[MainRoute, ...] = Field(
        default=(),
        exclude_if=lambda value: value == (),
        description="destinations that the servers reach through their first NIC of this fabric, whatever address a "
        "socket is bound to: routes in the main table, as prefixes or `default`",
    )
    rule_priority: int | None = Field(
        default=10000, ge=0, le=32765, description="priority of the rules; null: the kernel chooses"
    )


class Job(Model):
    """The settings for starting a collective job on the servers. They appear in ``nccl.env`` and in the mpirun command."""

    net_plugin: Word | None = Field(
        default=None,
        description="value of NCCL_NET_PLUGIN; empty: railweave if the fabric has path colors, else none (Juniper's own "
        "plug-in is juniper-ib)",
    )
    qps_per_connection: int | None = Field(
        default=None, ge=1, le=128, description="queue pairs per connection; empty: one per path color"
    )
    socket_interface: Word | None = Field(
        default=None,
        description="value of NCCL_SOCKET_IFNAME, the interface for bootstrap connections; empty: NCCL chooses",
    )
    address_family: Literal["ipv4", "ipv6"] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="address family of RDMA traffic if NICs have both (NCCL_IB_ADDR_FAMILY, dual stack); empty: that of "
        "server_pool",
    )
    socket_family: Literal["AF_INET", "AF_INET6"] | None = Field(
        default=None, description="value of NCCL_SOCKET_FAMILY; empty: the family of the server addresses"
    )
    library_folder: Word | None = Field(
        default=None,
        description="folder of the net plug-in, which is added to LD_LIBRARY_PATH; empty: /usr/local/lib with path "
        "colors, else none",
    )
    mpi_folder: Word | None = Field(
        default=None,
        description="folder of Open MPI, the same on every server; empty: /opt/AMD/install/mpi on servers with AMD GPUs, "
        "else Open MPI is found through PATH",
    )
    environment: dict[str, str | int | None] = Field(
        default_factory=dict[str, "str | int | None"],
        description="variables to add or change; null removes a variable; $NAME is replaced by the value of NAME on the "
        "server",
    )
    color_dscp: dict[str, Annotated[int, Field(ge=0, le=63)]] = Field(
        default_factory=dict[str, int],
        exclude_if=lambda value: not value,
        description="DSCP of the data of single path colors, by the color's name, for the net plug-in. NCCL_IB_TC, which "
        "would set one DSCP for all colors, is then left out. Switches put the data into the class of "
        "`qos.classes` that has this DSCP",
    )
    clear_to_send_dscp: int | None = Field(
        default=None,
        ge=0,
        le=63,
        exclude_if=lambda value: value is None,
        description="DSCP of clear-to-send messages and acknowledgements (NCCL_IB_FIFO_TC); empty: that of the data, or "
        "for RCCL with NICs whose vendor says so (Pollara) that of congestion notification packets",
    )
    tuner: bool = Field(
        default=False,
        exclude_if=lambda value: value is False,
        description="true: NCCL takes algorithm, protocol and channels from hosts/tuner.json (RAILWEAVE_NET_TUNER=1); "
        "false: NCCL only logs what it would choose from that table",
    )
    mpi_version: Literal[4, 5] = Field(default=5, description="major version of Open MPI, whose mpirun starts jobs")

    @field_validator("environment", mode="before")
    @classmethod
    def _no_truth(cls, value: object) -> object:
        for name, text in cast("dict[str, object]", value).items() if isinstance(value, dict) else ():
            if isinstance(text, bool):
                raise WrongValueError(f"the value of {name} is neither text nor a number", "write it in quotes")
        return cast("object", value)

    @field_validator("environment")
    @classmethod
    def _names(cls, value: dict[str, str | int | None]) -> dict[str, str | int | None]:
        import re

        for name, text in value.items():
            if re.fullmatch(VARIABLE, name) is None:
                raise WrongValueError(f"{name!r} is not the name of a variable", "use letters, digits and underscores")
            if isinstance(text, str) and ("\n" in text or "\0" in text):
                raise WrongValueError(f"the value of {name} has several lines", "write it on one line")
        return value


Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+~:-]{0,63}$")]
"""A version without spaces, exactly as the software's own tool prints it."""


Software = Literal[
    "rocm", "cuda", "broadcom-nic", "mlnx-ofed", "perftest", "ucx", "open-mpi", "rccl-tests", "nccl-tests"
]
"""The software that `railweave host setup` installs by release."""


class Versions(Model):
    """The software versions that servers should run. `railweave host check` compares them, except ``software``.

    `railweave host setup` installs them.
    """

    kernel: Version | None = Field(default=None, description="release of the Linux kernel, as `uname -r` prints it")
    gpu_driver: Version | None = Field(default=None, description="version of the GPU driver")
    collective_library: Version | None = Field(
        default=None,
        description="version of NCCL or RCCL, as at the end of its file's name: 2.27.3; 2.27 allows every 2.27 version",
    )
    nic_firmware: dict[str, Version] = Field(
        default_factory=dict[str, str], description="firmware version by NIC model, as `ethtool -i` prints it"
    )
    nic_driver: dict[str, Version] = Field(
        default_factory=dict[str, str], description="driver version by driver, as `ethtool -i` prints it"
    )
    software: dict[Software, Version] = Field(
        default_factory=dict[Software, str],
        exclude_if=lambda value: not value,
        description="release that `railweave host setup` installs, by software, as the vendor's file name has it: `rocm: 7.1.0`, "
        "`broadcom-nic: 237.1.148.0a`; software left out may have any release. `railweave host check` does not compare it",
    )


class Hosts(Model):
    """The configuration of the servers."""

    router_advertisements: Literal["networkd", "kernel"] = Field(
        default="networkd",
        description="program that forms addresses from router advertisements: systemd-networkd (it turns the kernel's "
        "handling off on its interfaces) or the kernel (for NICs that networkd does not manage)",
    )
    roce_bandwidth: Percent | None = Field(
        default=None,
        ge=1,
        le=99,
        description="share of RDMA data in the scheduler of the NICs, percent; empty: the `bandwidth` of its class",
    )
    versions: Versions = Field(default=Versions(), description="software that servers should run")
    job: Job = Field(default=Job(), description="how collective jobs are started")
