"""Data center interconnect: a fabric that spans sites, and the long links between them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from railweave.model.intent.base import Gbps, Microseconds, Model, WrongValueError
from railweave.model.intent.names import Name
from railweave.model.intent.secrets import secret_reference


class Macsec(Model):
    """MACsec on the long links, with a pre-shared key (IEEE 802.1AE; 802.1X for the key agreement)."""

    cipher_suite: Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"] = Field(
        default="gcm-aes-xpn-256",
        description="cipher; xpn counts packets in 64 bits, without which a link of 800G has to be keyed anew every minute",
    )
    key_name: str = Field(
        pattern=r"^([0-9a-fA-F]{2}){1,32}$", description="name of the connectivity association key (CKN), hexadecimal"
    )
    key: str = Field(description="secret:NAME of the connectivity association key (CAK), hexadecimal")

    _reference = field_validator("key")(secret_reference)


class Interconnect(Model):
    """Which stripes stand at which site, and what joins the sites.

    Without ``routers`` the leaves themselves are joined, and there is one at a site; with them every spine of a site has
    links to each of the site's routers, and those to the routers of other sites.
    """

    sites: dict[Name, tuple[str, ...]] = Field(min_length=2, description="the stripes at each site")
    routers: int = Field(default=0, ge=0, le=8, description="routers of the interconnect at each site; 0: the leaves")
    links_per_router: int = Field(
        default=1, ge=1, le=64, description="parallel links between a spine and each router of its site"
    )
    links: int = Field(default=4, ge=1, le=64, description="parallel links between each pair of routers of two sites")
    link_speed: Gbps = Field(default=800, description="speed of those links")
    delay: Microseconds | None = Field(
        default=None, ge=1, le=100_000, description="measured delay of a long link, one way; empty: by its length"
    )
    macsec: Macsec | None = Field(default=None, description="encryption of the long links; empty: none")
    pfc: bool = Field(
        default=False,
        description="pause frames on the long links; they need headroom for twice the delay at full rate",
    )

    @model_validator(mode="after")
    def _stripe_once(self) -> Interconnect:
        owner: dict[str, str] = {}
        for site, stripes in self.sites.items():
            if not stripes:
                raise WrongValueError(f"site {site!r} has no stripe", "list the stripes there", ["sites", site])
            for stripe in stripes:
                other = owner.setdefault(stripe, site)
                if other != site:
                    raise WrongValueError(
                        f"stripe {stripe!r} is at {other!r} and at {site!r}",
                        "it can stand at one site",
                        ["sites", site],
                        earlier=["sites", other],
                    )
        return self

    def site_of(self, stripe: str) -> str:
        """The site of a stripe; empty where it has none."""
        return next((site for site, stripes in self.sites.items() if stripe in stripes), "")
