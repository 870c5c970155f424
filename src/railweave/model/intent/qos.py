"""The QoS section of the fabric file, for each role: traffic classes, buffers, ECN and PFC.

The defaults are the values on which the sources agree:

- RoCEv2 data on DSCP 26 and PFC priority 3, and congestion notification packets on DSCP 48 (Thor2 guide, section 2.5;
  facts/configuration.md);
- shared buffer 80/10/10 with dynamic threshold 7, and an ECN fill level of 55 % (EVPN test report, "Buffer management
  values").
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from railweave.model.intent.base import Bytes, Milliseconds, Model, Name, Percent, WrongValueError
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.profiles import QOS, known_profile, with_profile

Dscp = Annotated[int, Field(ge=0, le=63)]


class Ecn(Model):
    """The ECN marking (WRED) of one queue: the marking probability rises linearly between two fill levels of the queue's buffer share."""

    min_fill: Percent = Field(default=55, ge=0, le=100, description="fill level at which marking starts, percent")
    max_fill: Percent = Field(
        default=90, ge=0, le=100, description="fill level at which marking reaches `max_probability`, percent"
    )
    max_probability: Percent = Field(
        default=100, ge=0, le=100, description="marking probability at `max_fill`, percent"
    )

    min_bytes: Bytes | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="queue length at which marking starts, on systems that count bytes; empty: the system's default",
    )
    max_bytes: Bytes | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="queue length at which marking reaches `max_probability`, on the same systems",
    )

    @model_validator(mode="after")
    def _both_bytes(self) -> Ecn:
        if (self.min_bytes is None) != (self.max_bytes is None):
            raise WrongValueError("min_bytes and max_bytes go together", "give both or neither, for example 1M and 3M")
        if self.min_bytes is not None and self.max_bytes is not None and self.min_bytes >= self.max_bytes:
            raise WrongValueError(
                f"min_bytes {self.min_bytes} must be below max_bytes {self.max_bytes}", "for example 1M and 3M"
            )
        return self

    @model_validator(mode="after")
    def _ordered(self) -> Ecn:
        if self.min_fill >= self.max_fill:
            raise WrongValueError(
                f"min_fill {self.min_fill} must be below max_fill {self.max_fill}", "for example 55 and 90"
            )
        return self


class TrafficClass(Model):
    """One forwarding class: its packets, queue, scheduling and marking."""

    queue: int = Field(ge=0, le=11, description="number of the egress queue on the switch (the NIC's may differ)")
    dscp: tuple[Dscp, ...] = Field(default=(), description="DSCP values of the class, 0 to 63")
    lossless: bool = Field(default=False, description="never drop packets of this class: PFC is enabled for it")
    pfc_priority: int | None = Field(
        default=None,
        ge=0,
        le=7,
        description="PFC priority on the wire, 1 to 7; required when lossless. Priority 0 is for traffic without a class",
    )
    priority: Literal["low", "strict-high"] = Field(
        default="low", description="scheduling of the queue: weighted round robin or strict priority"
    )
    bandwidth: Percent | None = Field(
        default=None,
        ge=1,
        le=99,
        description="guaranteed share of the port, percent. The switch's scheduler and the NIC's (ETS) both use it. For a "
        "strict class it is the upper limit",
    )
    transmit_percent: Percent | None = Field(
        default=None,
        ge=1,
        le=100,
        validate_default=True,
        description="weight or strict-priority limit in the switch's scheduler, percent of the port rate; empty: as "
        "`bandwidth`. Without `bandwidth`, NICs use this value as their share, too",
    )
    buffer_percent: Percent | None = Field(
        default=None,
        ge=0,
        le=100,
        description="dedicated buffer of the queue, percent of the port's dedicated buffer; empty: the system's default",
    )
    dynamic_threshold: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="egress shared-buffer threshold index; alpha = 2^(index-7); empty: the system's default, 7",
    )
    ecn: Ecn | None = Field(default=None, description="settings of ECN marking; empty: none")

    @field_validator("transmit_percent", mode="after")
    @classmethod
    def _as_bandwidth(cls, value: int | None, info: ValidationInfo) -> int | None:
        return info.data.get("bandwidth") if value is None else value

    @property
    def nic_share(self) -> int | None:
        """The class's share of a NIC's scheduler in percent, or None if the file sets no share.

        The share is at most 99, because traffic other than RDMA is in a different class.
        """
        share = self.transmit_percent if self.bandwidth is None else self.bandwidth
        return None if share is None else min(share, 99)

    @model_validator(mode="after")
    def _lossless_has_priority(self) -> TrafficClass:
        if self.lossless and self.pfc_priority is None:
            raise WrongValueError("a lossless class needs a pfc_priority", "RoCEv2 fabrics use 3")
        if self.pfc_priority is not None and not self.lossless:
            raise WrongValueError(
                "pfc_priority is set on a class that is not lossless", "set `lossless: true` or remove it"
            )
        if self.pfc_priority == 0:
            raise WrongValueError(
                "pfc_priority 0 would also pause all other traffic, because NICs and switches use priority 0 "
                "for packets without a class",
                "use 1 to 7; most RoCEv2 fabrics use 3",
                ["pfc_priority"],
            )
        return self


class Watchdog(Model):
    """The PFC watchdog, which acts on a queue that has been paused for too long (Junos defaults, facts/physics.md)."""

    poll_interval: Milliseconds = Field(
        default=100, ge=1, le=1000, description="time between two checks of a paused queue"
    )
    detection: int = Field(
        default=2,
        ge=1,
        le=10,
        description="number of consecutive checks that find the queue stuck before the watchdog acts",
    )
    recovery: Milliseconds = Field(
        default=200, ge=100, le=1500, description="time for which the watchdog acts before PFC works again"
    )
    action: Literal["drop", "forward"] = Field(
        default="drop", description="what happens to the packets of the stuck queue during that time"
    )


class Pfc(Model):
    """Priority flow control of the lossless classes."""

    xon_offset: Bytes | None = Field(
        default=None,
        ge=0,
        le=25_400_000,
        description="bytes below XOFF at which the pause ends; empty: the system's default",
    )
    mru: Bytes | None = Field(
        default=None,
        ge=1500,
        le=9416,
        description="size of the largest packet that the other end of the link sends, bytes; empty: the port MTU",
    )
    watchdog: Watchdog | None = Field(default=Watchdog(), description="PFC watchdog; null turns it off")
    ports: Literal["all", "server", "fabric"] = Field(
        default="all",
        exclude_if=lambda value: value == "all",
        description="ports that send pause frames: all, only ports to servers, or only ports between switches. The other "
        "ports drop packets that do not fit",
    )

    def pauses(self, kind: Literal["server", "fabric"]) -> bool:
        """Return True if PFC pauses traffic on ports of this kind: ports to servers, or ports between switches."""
        return self.ports in {"all", kind}


RDMA = "no-loss"
"""The name of the class of RDMA data.

With a fixed name, no other lossless class takes over RDMA data if this class is made lossy.
"""


def _default_classes() -> dict[str, TrafficClass]:
    return {name: TrafficClass(**value) for name, value in DEFAULT_CLASSES.items()}


DEFAULT_CLASSES: dict[str, dict[str, Any]] = {
    "best-effort": {"queue": 0, "dscp": (0,), "priority": "low", "bandwidth": 5},
    "cnp": {"queue": 3, "dscp": (48,), "priority": "strict-high", "bandwidth": 5},
    "no-loss": {
        "queue": 4,
        "dscp": (26,),
        "lossless": True,
        "pfc_priority": 3,
        "priority": "low",
        "bandwidth": 85,
        "ecn": {},
    },
    "network-control": {"queue": 7, "dscp": (56,), "priority": "low", "bandwidth": 5},
}
"""The default classes of a fabric. A fabric file can change single keys of a class."""


class Qos(Model):
    """The QoS of one role, or of every role of a fabric."""

    profile: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a set of values from a test report (docs/load-balancing.md); fields given beside it win",
    )
    classes: dict[Name, TrafficClass] = Field(
        default_factory=_default_classes,
        description="forwarding classes by name. They change or add to the default classes best-effort, cnp, no-loss and "
        "network-control; null removes a class",
    )
    buffers: Buffers = Field(default=Buffers(), description="shared-buffer partition")
    pfc: Pfc = Field(default=Pfc(), description="priority flow control")
    buffer_monitor: bool = Field(default=True, description="record peak buffer occupancy per queue and priority group")

    @model_validator(mode="before")
    @classmethod
    def _merge_defaults(cls, data: Any) -> Any:  # noqa: ANN401 - raw input
        data = with_profile(QOS, data)
        whole = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if not isinstance(whole.get("classes"), dict):
            return cast("object", data)
        given = cast("dict[str, Any]", whole["classes"])
        classes: dict[str, Any] = {name: dict(value) for name, value in DEFAULT_CLASSES.items()}
        for name, change in given.items():
            if change is None:
                classes.pop(name, None)
            elif isinstance(change, dict):
                base = classes.get(name, {})
                if "transmit_percent" in change:  # the file's own word, which a default is not to contradict
                    base.pop("bandwidth", None)
                classes[name] = {**base, **cast("dict[str, Any]", change)}
            else:
                classes[name] = change
        return {**whole, "classes": classes}

    @field_serializer("classes", mode="wrap")
    def _with_removed(
        self, value: dict[str, TrafficClass], handler: SerializerFunctionWrapHandler
    ) -> dict[str, object]:
        """Return the classes as ``handler`` writes them, with removed default classes as None.

        Without these entries, reading the file would add the removed classes again.
        """
        return {**handler(value), **{name: None for name in DEFAULT_CLASSES if name not in value}}

    @field_validator("profile")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        return known_profile(QOS, value)

    @model_validator(mode="after")
    def _names_differ(self) -> Qos:
        """Raise ``WrongValueError`` if class names differ only in case, because Junos writes names in capitals."""
        seen: dict[str, str] = {}
        for name in self.classes:
            first = seen.setdefault(name.casefold(), name)
            if first != name:
                raise WrongValueError(
                    f"classes {first!r} and {name!r} differ only in capital letters, and Junos uses the name "
                    f"{name.upper()} for both: rename one",
                    "use the same spelling in both places, if they are the same class",
                    ["classes", name],
                    earlier=["classes", first],
                )
        return self

    @model_validator(mode="after")
    def _no_collisions(self) -> Qos:
        for attribute, wording in (("queue", "queue"), ("pfc_priority", "PFC priority")):
            seen: dict[int, str] = {}
            for name, traffic_class in self.classes.items():
                value = getattr(traffic_class, attribute)
                if value is None:
                    continue
                if value in seen:
                    raise WrongValueError(
                        f"classes {seen[value]!r} and {name!r} use the same {wording} {value}",
                        "give each its own",
                        ["classes", name],
                        ["classes", seen[value]],
                    )
                seen[value] = name
        owners: dict[int, str] = {}
        for name, traffic_class in self.classes.items():
            for dscp in traffic_class.dscp:
                if dscp in owners:
                    raise WrongValueError(
                        f"DSCP {dscp} is in classes {owners[dscp]!r} and {name!r}",
                        "put each DSCP value in one class only",
                        ["classes", name],
                        ["classes", owners[dscp]],
                    )
                owners[dscp] = name
        return self

    @model_validator(mode="after")
    def _shares_fit(self) -> Qos:
        shares = {
            name: traffic_class.transmit_percent
            for name, traffic_class in self.classes.items()
            if traffic_class.transmit_percent
        }
        if sum(shares.values()) > 100:
            *most, last = (f"{name!r} {share}{self._origin(name)}" for name, share in shares.items())
            keys = {
                f"`{key}`" for name in shares for key in ("bandwidth", "transmit_percent") if key in self._written(name)
            }
            raise WrongValueError(
                f"classes {', '.join(most)} and {last} have {' and '.join(sorted(keys)) or 'shares'} of {sum(shares.values())} % together",
                "reduce them to at most 100 % together; classes that you did not change have a default "
                "`bandwidth`, which counts, too",
                *(["classes", name] for name in reversed(shares)),
            )
        return self

    def _written(self, name: str) -> set[str]:
        """Return the names of fields in which a class differs from its default."""
        usual = DEFAULT_CLASSES.get(name, {})
        return {
            key for key in self.classes[name].model_fields_set if getattr(self.classes[name], key) != usual.get(key)
        }

    def _origin(self, name: str) -> str:
        traffic_class, usual = self.classes[name], DEFAULT_CLASSES.get(name, {})
        return (
            " (its default)"
            if traffic_class.bandwidth is not None
            and traffic_class.bandwidth == usual.get("bandwidth") == traffic_class.transmit_percent
            else ""
        )

    def lossless_class(self) -> TrafficClass | None:
        """Return the first lossless class, or None if the role has no lossless class."""
        return next((traffic_class for traffic_class in self.classes.values() if traffic_class.lossless), None)

    def nic_shares(self, data: int | None = None) -> dict[str, int]:
        """Return the percentage of bandwidth that a NIC's scheduler gives to each lossless class, by class name.

        A class gets its ``nic_share``. Lossless classes without a share and the lossy traffic divide the rest evenly, with at
        least 1 percent each. If the class of RDMA data is lossless, ``data`` replaces its share.
        """
        given = {
            name: traffic_class.nic_share for name, traffic_class in self.classes.items() if traffic_class.lossless
        }
        rdma = self.rdma_name()
        if data is not None and rdma in given:
            given[rdma] = data
        assigned = sum(share or 0 for share in given.values())
        rest = max(1, (100 - assigned) // (1 + list(given.values()).count(None)))
        return {name: share or rest for name, share in given.items()}

    def rdma_name(self) -> str | None:
        """Return the name of the class of RDMA data, or None if there is no such class.

        The result is the first of these that exists:

        - ``no-loss``, lossless or not, if it has a DSCP;
        - the first lossless class;
        - the first class that has a DSCP and ECN marking.
        """
        if RDMA in self.classes and self.classes[RDMA].dscp:
            return RDMA
        lossless = (name for name, traffic_class in self.classes.items() if traffic_class.lossless)
        marked = (
            name for name, traffic_class in self.classes.items() if traffic_class.dscp and traffic_class.ecn is not None
        )
        return next(lossless, None) or next(marked, None)

    def rdma_class(self) -> TrafficClass | None:
        """Return the class of RDMA data, chosen by ``rdma_name``, or None if no class qualifies."""
        name = self.rdma_name()
        return None if name is None else self.classes[name]

    def cnp_class(self) -> TrafficClass | None:
        """Return the class of congestion notification packets, named ``cnp``, or None if the file removed it."""
        return self.classes.get("cnp")
