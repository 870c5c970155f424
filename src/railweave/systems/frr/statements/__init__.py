"""Statement tables of FRR, which describe each statement once, for writing and reading (``model.config.statements``).

Each module has the tables of one area, such as BGP. The source of a table row is a section of FRR's manual.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.addresses import InterfaceAddress, Prefix
from railweave.model.config.codecs import choice
from railweave.model.config.secret_words import reference
from railweave.model.config.statements import Codec

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family


@cache
def unprinted(field: str, nos: str = "frr") -> int:
    """Return the default of a numeric field for a configuration that does not set it. ``field`` is its path, such as ``ospf.ports.metric``.

    Raises ``KeyError`` if ``system.yaml`` has no such default.
    """
    return int(catalog().systems[nos].reads.defaults[field].value or 0)


def _prefix(text: str) -> Prefix:
    """Return the prefix in a text. Host bits are set to zero, as in FRR."""
    return InterfaceAddress.read(text).prefix


def _address(text: str, family: Family) -> InterfaceAddress:
    address = InterfaceAddress.read(text)
    if address.family != family:
        raise ValueError(text)
    return address


FAMILY = choice({"ipv4": "ip", "ipv6": "ipv6"})
TEXT = Codec(r"\S+(?: \S+)*", word=r".+", shown_as="text")
WORD = Codec(r"\S+", shown_as="word")
SECRET = Codec(r"\S+", reference, "<{}>".format, shown_as="secret")
PREFIX = Codec(r"[0-9a-f.:]+/\d+", _prefix, shown_as="prefix")
IPV4 = Codec(r"[0-9a-f.:]+/\d+", partial(_address, family="ipv4"), shown_as="prefix")
IPV6 = Codec(r"[0-9a-f.:]+/\d+", partial(_address, family="ipv6"), shown_as="prefix")
