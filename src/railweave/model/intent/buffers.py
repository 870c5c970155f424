"""The partition of a switch's packet buffer."""

from __future__ import annotations

from typing import Any, Literal, cast

from pydantic import Field, model_validator

from railweave.model.intent.base import Model, Percent, WrongValueError

SYSTEM_EGRESS = {"egress_lossless": 50, "egress_lossy": 31, "egress_multicast": 19}
"""The default egress buffer partitions of Junos, percent (Juniper's reference, buffer-partition (Egress), table 1)."""


class Buffers(Model):
    """The partition of the shared packet buffer, in percent."""

    lossless: Percent = Field(default=80, ge=0, le=100, description="ingress pool of lossless classes")
    headroom: Percent = Field(
        default=10, ge=0, le=100, description="ingress pool for packets that arrive after a PFC pause frame was sent"
    )
    lossy: Percent = Field(default=10, ge=0, le=100, description="ingress pool of lossy classes")
    egress: Literal["designed", "system"] = Field(
        default="designed",
        exclude_if=lambda value: value == "designed",
        description="`system` leaves the egress partition at the system's default, if it has one (Junos: lossless 50, "
        "lossy 31, multicast 19). EOS and Enterprise SONiC have no egress partition, so the values have no "
        "effect there",
    )
    egress_lossless: Percent = Field(default=80, ge=0, le=100, description="egress pool of lossless classes")
    egress_lossy: Percent = Field(default=10, ge=0, le=100, description="egress pool of lossy unicast")
    egress_multicast: Percent = Field(default=10, ge=0, le=100, description="egress pool of multicast")
    ingress_dynamic_threshold: int = Field(
        default=7,
        ge=0,
        le=10,
        description="shared-buffer threshold index of ingress lossless priority groups; alpha = 2^(index-7)",
    )
    dedicated_ingress: Percent | None = Field(
        default=None, ge=0, le=100, description="dedicated ingress buffer, percent of its default; empty: unchanged"
    )
    dedicated_egress: Percent | None = Field(
        default=None, ge=0, le=100, description="dedicated egress buffer, percent of its default; empty: unchanged"
    )

    @model_validator(mode="before")
    @classmethod
    def _by_system(cls, data: Any) -> Any:  # noqa: ANN401 - raw input
        whole = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if whole.get("egress") != "system":
            return cast("object", data)
        for key, value in SYSTEM_EGRESS.items():
            if whole.get(key, value) != value:
                raise WrongValueError(f"{key} beside `egress: system`", "leave one of them out", [key], ["egress"])
        return {**whole, **SYSTEM_EGRESS}

    @model_validator(mode="after")
    def _sums(self) -> Buffers:
        for side, parts in (
            ("ingress", (self.lossless, self.headroom, self.lossy)),
            ("egress", (self.egress_lossless, self.egress_lossy, self.egress_multicast)),
        ):
            if sum(parts) > 100:
                shown = " + ".join(str(part) for part in parts)
                raise WrongValueError(
                    f"{side} partitions {shown} have the sum {sum(parts)} %, more than 100 %",
                    "the sum may be at most 100",
                )
        return self
