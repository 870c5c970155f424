"""The address ranges and naming rules in the file of ``init --addresses``. It has sections of a fabric file, with the same checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import yaml
from pydantic import Field

from railweave.errors import InputError, Option, Problem
from railweave.model.intent.addresses import Pools
from railweave.model.intent.addressing import Addressing
from railweave.model.intent.base import Model, expand
from railweave.model.intent.management import Management
from railweave.model.intent.reading.document import read_document, validate
from railweave.model.intent.topology import Naming

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class AddressFile(Model):
    """The file of ``--addresses``. The sections are those of a fabric file; each section may be absent."""

    pools: Pools = Field(default=Pools(), description="as `fabrics.NAME.pools`: AS numbers, router ids, links, VLANs")
    addressing: Addressing = Field(default=Addressing(), description="as `fabrics.NAME.addressing`: servers' prefixes")
    naming: Naming = Field(default=Naming(), description="as `fabrics.NAME.naming`: names of switches")
    management: Management = Field(default=Management(), description="as `management`: its pool, gateway, servers")
    servers: str = Field(default="", description="names of the servers as a host list, for example node-[001-064]")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The valid rules of an ``init --addresses`` file, section by section.

    ``servers`` holds the names of the servers as a host list; empty for the default names.
    """

    pools: Mapping[str, Any]
    addressing: Mapping[str, Any]
    naming: Mapping[str, Any]
    management: Mapping[str, Any]
    servers: str = ""

    def names(self, first: int, last: int) -> str:
        """Return the names of servers ``first`` to ``last``, from 1, as a host list.

        Raises ``InputError`` if the rules' host list has too few names. Also raises it if all servers are requested and the list has
        more names than there are servers.
        """
        names = expand(self.servers)
        if len(names) < last:
            fix = f"write a host list of {last} names, for example gpu-[{1:0{len(str(last))}d}-{last}]"
            message = f"servers {self.servers!r} has {len(names)} names, and the network has {last} servers"
            raise InputError([Problem(Option("--addresses"), message, fix)])
        if (first, last) == (1, len(names)):
            return self.servers
        return ",".join(names[first - 1 : last])


def read_rules(path: Path) -> AddressRules:
    """Return the address and naming rules in a file. Raises ``SpecError`` with every problem and its line."""
    document = read_document(path, start="docs/howto/size-a-network.md shows a file for --addresses")
    validate(AddressFile, document)
    value = cast("dict[str, Any]", document.value or {})
    pools, addressing, naming, management = (
        cast("dict[str, Any]", value.get(section) or {}) for section in ("pools", "addressing", "naming", "management")
    )
    return AddressRules(pools, addressing, naming, management, str(value.get("servers") or ""))


def flow(value: object) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text.removesuffix("\n").removesuffix("\n...")
