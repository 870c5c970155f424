"""The load-balancing section of the fabric file.

The defaults for dynamic load balancing are the switches' own (EVPN test report, "DLB values (default)"). The report's
"egress-quantization min 10 … min 90" means min 10, max 90 (facts/errata-and-limits.md).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from railweave.model.intent.base import Microseconds, Model, Percent, WrongValueError
from railweave.model.intent.profiles import LOAD_BALANCING, known_profile, with_profile


class EgressQuantization(Model):
    """The quality bands of dynamic load balancing, which decide the choice of a port."""

    min: Percent = Field(
        default=20, ge=1, le=100, description="load below which a link is in the best band, percent of line rate"
    )
    max: Percent = Field(
        default=50, ge=1, le=100, description="load above which a link is in the worst band, percent of line rate"
    )
    rate_weightage: Percent = Field(
        default=50, ge=0, le=100, description="weight of the recent rate against the queue depth, percent"
    )

    @model_validator(mode="after")
    def _ordered(self) -> EgressQuantization:
        if self.min >= self.max:
            raise WrongValueError(
                f"min {self.min} must be below max {self.max}", "the values of the tuned profile are 10 and 90"
            )
        return self


class Reassignment(Model):
    """The settings of reactive path rebalancing, which moves a busy flowlet to a clearly better port."""

    prob_threshold: int = Field(
        default=3, ge=0, le=255, description="probability that a flow moves to a better port, in units of 1/256"
    )
    quality_delta: int = Field(
        default=6, ge=0, le=7, description="number of quality bands by which a port must be better"
    )


class Dlb(Model):
    """The settings of dynamic load balancing (DLB) inside one next-hop group."""

    inactivity_interval: Microseconds = Field(
        default=256, ge=16, le=32000, description="idle time after which a flowlet may move to another port"
    )
    flowset_table_size: int = Field(
        default=256, ge=256, le=32768, description="number of flowsets per group, a power of two"
    )
    sampling_rate: int = Field(default=62_500, ge=8, le=1_000_000, description="number of port-load samples per second")
    egress_quantization: EgressQuantization = Field(default=EgressQuantization(), description="quality bands")
    reassignment: Reassignment | None = Field(default=None, description="reactive path rebalancing; empty: off")

    @model_validator(mode="after")
    def _power_of_two(self) -> Dlb:
        size = self.flowset_table_size
        if size & (size - 1):
            raise WrongValueError(f"flowset_table_size {size} is not a power of two", "use 256, 512, … 32768")
        return self


class Hash(Model):
    """The header fields and the seed of the static ECMP hash."""

    layer3: bool = Field(default=True, description="hash source and destination address")
    layer4: bool = Field(default=True, description="hash source and destination UDP port")
    seed: int | None = Field(
        default=None, ge=0, le=4_294_967_295, description="hash seed; empty: each switch has a different seed"
    )


OPCODES = {
    "write-first": 6,
    "write-middle": 7,
    "write-last": 8,
    "write-last-immediate": 9,
    "write-only": 10,
    "write-only-immediate": 11,
    "read-response-first": 13,
    "read-response-middle": 14,
    "read-response-last": 15,
    "read-response-only": 16,
}
"""The opcodes of packets that carry data on reliable connections (InfiniBand specification, volume 1, table 38)."""


def _opcode(value: object) -> object:
    if isinstance(value, str) and value not in OPCODES:
        raise WrongValueError(f"{value!r} is not an RDMA opcode", f"write 0 to 255, or {', '.join(OPCODES)}")
    return OPCODES[value] if isinstance(value, str) else value


Opcode = Annotated[
    int,
    BeforeValidator(_opcode),
    Field(ge=0, le=255),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["write-only"]}),
]
"""An RDMA opcode, given by number or by name."""


class Selective(Model):
    """The settings of selective DLB: a filter on server ports selects packets by RDMA opcode. All other packets keep the static hash."""

    opcodes: tuple[Opcode, ...] = Field(
        default=(6, 7, 8, 9, 10, 11),
        description="opcodes whose packets are balanced dynamically, 0 to 255 or by name; empty: RDMA writes",
    )

    @field_validator("opcodes")
    @classmethod
    def _once(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value:
            raise WrongValueError("no opcode is given", "remove `opcodes` to balance RDMA writes")
        twice = next((opcode for opcode in value if value.count(opcode) > 1), None)
        if twice is not None:
            raise WrongValueError(f"opcode {twice} is listed twice", "name each once")
        return value


Mode = Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray", "rlb"]


class LoadBalancing(Model):
    """The method that spreads traffic over the uplinks.

    - ``rlb`` (RDMA-aware load balancing) gives each queue pair of a connection a path color, and so an uplink.
    - ``within_color`` selects the method inside a color that spans several uplinks.
    - The other modes spread flows, flowlets or packets over all uplinks, without colors.
    """

    profile: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a set of values from a test report (docs/load-balancing.md); fields given beside it win",
    )
    mode: Mode = Field(default="rlb", description="ecmp, dlb-flowlet, dlb-per-packet, spray (random per packet) or rlb")
    within_color: Literal["ecmp", "dlb-flowlet", "dlb-per-packet"] = Field(
        default="dlb-flowlet",
        description="for rlb: how next-hop groups (several uplinks of a color, backups) share packets",
    )
    dlb: Dlb = Field(default=Dlb(), description="parameters of DLB, for modes that use it")
    selective: Selective | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="use DLB only for packets with some RDMA opcodes; empty: for all packets",
    )
    global_balancing: bool = Field(
        default=False,
        exclude_if=lambda value: value is False,
        description="global load balancing: leaves also consider how loaded the spines' links to the destination are",
    )
    hash: Hash = Field(default=Hash(), description="the static hash")
    spray_opcodes: tuple[int, ...] = Field(
        default=(),
        exclude_if=lambda value: value == (),
        description="for spray: spray only packets with these RDMA opcodes (first byte after the UDP header), and hash "
        "the others; 10 is RDMA write only, which NICs with adaptive routing send; empty: spray every packet",
    )
    fast_reroute: bool = Field(
        default=True, description="hardware repairs a next-hop group when one of its members goes down"
    )

    @model_validator(mode="after")
    def _opcodes(self) -> LoadBalancing:
        for opcode in self.spray_opcodes:
            if not 0 <= opcode <= 255:
                raise WrongValueError(
                    f"{opcode} is not an RDMA opcode",
                    "an opcode is one byte, for example 10 for RDMA write only",
                    ["spray_opcodes"],
                )
        if self.spray_opcodes and self.mode != "spray":
            raise WrongValueError(f"spray_opcodes with mode {self.mode}", "set `mode: spray`", ["spray_opcodes"])
        return self

    @model_validator(mode="before")
    @classmethod
    def _from_profile(cls, data: object) -> object:
        return with_profile(LOAD_BALANCING, data)

    @field_validator("profile")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        return known_profile(LOAD_BALANCING, value)

    @model_validator(mode="after")
    def _dynamic(self) -> LoadBalancing:
        for part, given in (("selective", self.selective), ("global_balancing", self.global_balancing)):
            if given and not self.group_mode().startswith("dlb"):
                raise WrongValueError(
                    f"{part} needs dynamic load balancing, but next-hop groups are shared by {self.group_mode()}",
                    "set mode dlb-flowlet or dlb-per-packet",
                    [part],
                )
        if self.selective and self.global_balancing:
            raise WrongValueError(
                "selective and global_balancing exclude each other: global balancing needs DLB for all traffic",
                "keep one",
                ["selective"],
            )
        return self

    def group_mode(self) -> Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray"]:
        """Return the mode in which a switch distributes traffic over the members of a next-hop group."""
        return self.within_color if self.mode == "rlb" else self.mode
