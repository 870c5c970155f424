"""Addresses and prefixes as strings in canonical form, with the address family as an attribute.

They print, sort and look up as strings (RFC 5952 for IPv6). Use ``read`` for text from outside.
Calling the class directly assumes that the text is already canonical.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Family = Literal["ipv4", "ipv6"]

FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")

WORDS: dict[Family, str] = {"ipv4": "IPv4", "ipv6": "IPv6"}
"""The names of the address families in text for users."""


def family_of(text: str | None) -> Family | None:
    """Return the address family that an option names; None if the option is absent. Raises ``InputError`` for any other text."""
    families: dict[str | None, Family | None] = {None: None, "4": "ipv4", "6": "ipv6", "ipv4": "ipv4", "ipv6": "ipv6"}
    if text not in families:
        raise InputError([Problem(Option("--family"), f"{text!r} is not an address family", "give 4 or 6")])
    return families[text]


BITS: dict[Family, int] = {"ipv4": 32, "ipv6": 128}
"""The number of bits of an address, by family."""


class _Value(str):
    """The common base of addresses, prefixes and interface addresses: a string with an address family."""

    __slots__ = ()
    WRITTEN: ClassVar[str]

    @property
    def family(self) -> Family:
        """The address family."""
        return "ipv6" if ":" in self else "ipv4"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the text in canonical form, as an object of this class. Raises ``ValueError`` if the text is not valid."""
        return cls(cls._form(text))

    @classmethod
    def _form(cls, text: str) -> str:
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - pydantic's
        from pydantic_core import core_schema

        described = core_schema.str_schema(metadata={"pydantic_js_updates": {"description": cls.WRITTEN}})
        return core_schema.no_info_after_validator_function(cls.read, described)


class Address(_Value):
    """An IPv4 or IPv6 address, for example ``10.0.0.1`` or ``2001:db8::1``."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 address"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_address(text))

    @property
    def prefix(self) -> Prefix:
        """The host prefix of this address: /32 or /128."""
        return Prefix(f"{self}/{BITS[self.family]}")


class _WithLength(_Value):
    """An address with a prefix length after a slash."""

    __slots__ = ()

    @property
    def length(self) -> int:
        """The length of the prefix in bits."""
        return int(self.rpartition("/")[2])

    @property
    def address(self) -> Address:
        """The address without the prefix length. For a prefix, this is its first address."""
        return Address(self.partition("/")[0])

    @staticmethod
    def _checked(text: str) -> str:
        """Return the text unchanged. Raises ``ValueError`` if it has no prefix length, because ``ipaddress`` would add one."""
        if "/" not in text:
            raise ValueError(f"{text!r:.60} has no prefix length")
        return text


class Prefix(_WithLength):
    """A prefix without host bits, for example ``10.0.0.0/24``."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 prefix"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_network(cls._checked(text)))

    def holds(self, address: Address) -> bool:
        """Return True if an address is in the prefix."""
        return address.family == self.family and InterfaceAddress(f"{address}/{self.length}").prefix == self


class InterfaceAddress(_WithLength):
    """The address of an interface with its prefix length, for example ``10.0.0.1/24``."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 address with the length of its prefix, for example 10.0.0.1/31"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_interface(cls._checked(text)))

    @property
    def prefix(self) -> Prefix:
        """The prefix that contains the address."""
        return Prefix(str(ipaddress.ip_interface(self).network))


Addressed = Address | Prefix | InterfaceAddress
"""Any value that has an address family."""
