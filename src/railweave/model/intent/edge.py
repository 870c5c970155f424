"""Edge ports: routed ports of leaves to what is no server of the file and speaks no BGP, such as a tester."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import Field, field_validator

from railweave.model.intent.addresses import Prefix
from railweave.model.intent.base import Gbps, Line, Metres, Model, WrongValueError
from railweave.model.intent.names import Name


class EdgePort(Model):
    """A routed port without BGP. The leaf has the first address of each prefix, and advertises the prefixes."""

    leaf: str = Field(description="the leaf that it is on")
    port: str = Field(description="the leaf's port, for example et-0/0/31")
    prefixes: Annotated[tuple[Prefix, ...], Field(min_length=1)] = Field(
        description="what is behind it, at most one prefix of each address family"
    )
    speed: Gbps | None = Field(default=None, gt=0, description="its speed; empty: that of the whole port")
    length: Metres | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="length of its cable, for PFC's headroom; empty: the planned length of cables to servers",
    )
    tenant: Name | None = Field(default=None, description="the tenant whose VRF it is in, where the fabric has tenants")
    description: Line = Field(default="", description="free text")

    @field_validator("prefixes")
    @classmethod
    def _one_of_each(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len({":" in one for one in value}) < len(value):
            what = f"{' and '.join(value)} are of one address family"
            raise WrongValueError(what, "give at most one IPv4 and one IPv6 prefix")
        for one in value:
            if ipaddress.ip_network(one).num_addresses < 2:
                raise WrongValueError(
                    f"{one} has no room for the leaf and another", "use a /31 or /127, or a shorter one"
                )
        return value
