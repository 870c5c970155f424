"""Addresses and prefixes as values: text in its one form, with the family as an attribute.

They are text (RFC 5952 for IPv6), so they are printed, sorted and looked up as such; ``read`` makes one of text from outside.
What is made by calling the class is taken to be in that form already.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Family = Literal["ipv4", "ipv6"]

WORDS: dict[Family, str] = {"ipv4": "IPv4", "ipv6": "IPv6"}
"""The names of the address families, as people write them."""

BITS: dict[Family, int] = {"ipv4": 32, "ipv6": 128}
"""Bits of an address."""


class _Value(str):
    """Text that holds an address."""

    __slots__ = ()
    WRITTEN: ClassVar[str]

    @property
    def family(self) -> Family:
        """The address family."""
        return "ipv6" if ":" in self else "ipv4"

    @classmethod
    def read(cls, text: str) -> Self:
        """The value in its one form. Raises ``ValueError`` where the text is none."""
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
    """An address: ``10.0.0.1``, ``2001:db8::1``."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 address"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_address(text))

    @property
    def prefix(self) -> Prefix:
        """The prefix that holds this address alone."""
        return Prefix(f"{self}/{BITS[self.family]}")


class _WithLength(_Value):
    """An address, and the length of a prefix behind a slash."""

    __slots__ = ()

    @property
    def length(self) -> int:
        """The length of the prefix in bits."""
        return int(self.rpartition("/")[2])

    @property
    def address(self) -> Address:
        """The address without the length: of a prefix, its first."""
        return Address(self.partition("/")[0])

    @staticmethod
    def _checked(text: str) -> str:
        """The text; raises ``ValueError`` where it has no length, which ``ipaddress`` would take for a host."""
        if "/" not in text:
            raise ValueError(f"{text!r:.60} does not appear to have a length")
        return text


class Prefix(_WithLength):
    """A prefix: ``10.0.0.0/24``, with no bit set beyond its length."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 prefix"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_network(cls._checked(text)))

    def holds(self, address: Address) -> bool:
        """Return whether an address is in the prefix."""
        return address.family == self.family and InterfaceAddress(f"{address}/{self.length}").prefix == self


class InterfaceAddress(_WithLength):
    """The address of an interface with the length of its prefix: ``10.0.0.1/24``."""

    __slots__ = ()
    WRITTEN = "an IPv4 or IPv6 address with the length of its prefix"

    @classmethod
    def _form(cls, text: str) -> str:
        return str(ipaddress.ip_interface(cls._checked(text)))

    @property
    def prefix(self) -> Prefix:
        """The prefix it is in."""
        return Prefix(str(ipaddress.ip_interface(self).network))


Addressed = Address | Prefix | InterfaceAddress
"""Any of them: what has a family."""
