"""The underlay section of the fabric file: routing protocols, BFD and router advertisements."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from railweave.model.intent.addresses import Prefix
from railweave.model.intent.base import Milliseconds, Model, Seconds, WrongValueError, secret_reference


class Bfd(Model):
    """The settings of bidirectional forwarding detection on every BGP session (RLB document, Table 6: 1000 ms x 3)."""

    enabled: bool = Field(default=True, description="run BFD")
    minimum_interval: Milliseconds = Field(default=1000, ge=1, le=255_000, description="time between hello packets")
    multiplier: int = Field(
        default=3, ge=1, le=255, description="number of missed hello packets after which the session is down"
    )

    def detection_ms(self) -> int:
        """Return the detection time in milliseconds (RFC 5880, section 6.8.4)."""
        return self.minimum_interval * self.multiplier


class Isis(Model):
    """The settings of IS-IS as the only underlay routing protocol: one level-2 area (ISO 10589, RFC 1195, RFC 5305)."""

    area: str = Field(default="49.0001", pattern=r"^[0-9]{2}(\.[0-9]{4}){0,6}$", description="area address")
    metric: int = Field(default=10, ge=1, le=16_777_214, description="metric of every link (wide metrics)")
    key: str | None = Field(
        default=None, description="secret:NAME of the key that authenticates hello packets and the link-state database"
    )

    _key = field_validator("key")(secret_reference)


class Authentication(Model):
    """The authentication of BGP sessions (TCP MD5, RFC 2385; TCP-AO, RFC 5925 and 5926)."""

    algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"] = Field(
        default="md5", description="md5: TCP MD5; ao: TCP-AO, which FRR and SONiC do not support"
    )
    key: str = Field(description="secret:NAME of the key, the same for every session of the fabric")
    key_id: int = Field(default=1, ge=0, le=255, description="number of the key for TCP-AO, both sent and expected")

    _key = field_validator("key")(secret_reference)


class Underlay(Model):
    """The routing between leaves and spines."""

    protocol: Literal["bgp", "isis"] = Field(
        default="bgp",
        exclude_if=lambda value: value == "bgp",
        description="bgp: external BGP sessions with policies, which path colors and tenants need; isis: only shortest "
        "paths",
    )
    isis: Isis = Field(default=Isis(), exclude_if=lambda value: value == Isis(), description="knobs of IS-IS")

    peering: Literal["auto-discovered", "numbered"] = Field(
        default="auto-discovered",
        description="auto-discovered: IPv6 neighbor discovery finds the neighbors, and a list of AS numbers decides which "
        "are accepted; numbered: each link has a pair of addresses",
    )
    path_color: Literal["auto", "dpf", "local-preference"] = Field(
        default="auto",
        description="how switches carry path colors: dpf (fabric-color, AIGP), local-preference (large communities), or "
        "auto: dpf if every leaf and spine of the fabric supports it, else local-preference",
    )
    maximum_ecmp: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="largest number of next hops in a group; empty: the smallest number that the device allows and that "
        "is large enough",
    )
    bfd: Bfd = Field(default=Bfd(), description="settings of BFD for the underlay's sessions")
    graceful_restart: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="keep routes in use while a neighbor's BGP process restarts (RFC 4724), unless BFD reports that the "
        "neighbor no longer forwards. Turning it on resets the sessions",
    )
    ttl_security: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="accept BGP packets from neighbors on a link only with hop limit 255 (GTSM, RFC 5082), so that "
        "devices farther away cannot forge them",
    )
    authentication: Authentication | None = Field(
        default=None, exclude_if=lambda value: value is None, description="key of the BGP sessions; empty: none"
    )

    @model_validator(mode="after")
    def _of_bgp(self) -> Underlay:
        if self.protocol == "isis" and (self.graceful_restart or self.ttl_security or self.authentication):
            raise WrongValueError(
                "graceful_restart, ttl_security and authentication belong to BGP, but the underlay is IS-IS",
                "remove them; `isis: {key: secret:NAME}` authenticates IS-IS",
            )
        return self


class RouterAdvertisements(Model):
    """Router advertisements on server-facing interfaces (RFC 4861). The defaults are those of the RLB document, Table 3."""

    prefix_valid_lifetime: Seconds = Field(
        default=2_592_000, ge=0, le=4_294_967_295, description="time for which a prefix is valid"
    )
    prefix_preferred_lifetime: Seconds = Field(
        default=604_800,
        ge=0,
        le=4_294_967_295,
        description="time for which addresses of the prefix may be used for new connections",
    )
    router_lifetime: Seconds = Field(
        default=1800, ge=0, le=9000, description="time for which the leaf is a default router"
    )
    on_link: bool = Field(default=True, description="prefix flag L: hosts reach the prefix directly")
    autonomous: bool = Field(default=True, description="prefix flag A: hosts form addresses from the prefix (SLAAC)")
    managed: bool = Field(default=False, description="flag M: addresses by DHCPv6")
    other: bool = Field(default=False, description="flag O: hosts get other settings by DHCPv6")
    min_interval: Seconds = Field(
        default=200, ge=3, le=1350, description="shortest time between unsolicited advertisements"
    )
    max_interval: Seconds = Field(
        default=600, ge=4, le=1800, description="longest time between unsolicited advertisements"
    )
    reachable_time: Milliseconds = Field(
        default=0, ge=0, le=3_600_000, description="advertised reachable time; 0: unspecified"
    )
    retransmit_timer: Milliseconds = Field(
        default=0, ge=0, description="advertised retransmission timer; 0: unspecified"
    )
    hop_limit: int = Field(default=64, ge=0, le=255, description="advertised hop limit; 0: unspecified")
    link_mtu: bool = Field(default=False, description="advertise the interface's MTU")
    routes: tuple[Prefix, ...] = Field(
        default=(), description="prefixes that servers reach through the leaf: route information options (RFC 4191)"
    )
    route_lifetime: Seconds = Field(
        default=1800, ge=0, le=4_294_967_295, description="time for which servers keep those routes"
    )
    route_preference: Literal["low", "medium", "high"] = Field(
        default="medium", description="preference of those routes (RFC 4191, section 2.1)"
    )

    @field_validator("routes")
    @classmethod
    def _ipv6(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for prefix in value:
            if ":" not in prefix:
                raise WrongValueError(f"{prefix} is not IPv6", "route information options can carry only IPv6 prefixes")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> RouterAdvertisements:
        if self.prefix_preferred_lifetime > self.prefix_valid_lifetime:
            raise WrongValueError(
                f"prefix_preferred_lifetime {self.prefix_preferred_lifetime} s exceeds prefix_valid_lifetime "
                f"{self.prefix_valid_lifetime} s",
                f"make it at most {self.prefix_valid_lifetime} s (RFC 4861 section 4.6.2)",
            )
        if self.min_interval > 0.75 * self.max_interval:
            raise WrongValueError(
                f"min_interval {self.min_interval} s is over 0.75 x max_interval",
                f"make it at most {int(0.75 * self.max_interval)} s (RFC 4861 section 6.2.1)",
            )
        if 0 < self.router_lifetime < self.max_interval:
            raise WrongValueError(
                f"router_lifetime {self.router_lifetime} s is below max_interval {self.max_interval} s, so the "
                "default route would expire between advertisements",
                f"make it 0, or at least {self.max_interval} s (RFC 4861 section 6.2.1)",
            )
        return self
