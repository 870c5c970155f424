"""Codecs of Enterprise SONiC: they convert values to the words of its commands and back, within the device's limits."""

from __future__ import annotations

from functools import partial

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.codecs import needed, whole
from railweave.model.config.secret_words import reference
from railweave.model.config.statements import Codec
from railweave.systems.dell_sonic import words
from railweave.systems.dell_sonic.tree import quoted

ADDRESS_FORM = r"[0-9a-f.:]+"

WORD = Codec(r"\S+", shown_as="word")
HOST = Codec(r"\S+", shown_as="text")
TEXT = Codec(r'(?:"[^"]*"|\S+)', words.unquoted, quoted, word=r".+", shown_as="text")
ADDRESS = Codec(ADDRESS_FORM, Address.read, shown_as="address")
INTERFACE_ADDRESS = Codec(r"[0-9a-f.:]+/\d+", InterfaceAddress.read, shown_as="prefix")
SECRET = Codec(r"\S+", lambda text: reference(words.unquoted(text)), "<{}>".format, shown_as="secret")


def _asn(text: str) -> int:
    """Return the AS number in a text, which may contain a dot (RFC 5396). Return 0 for ``external`` and ``internal``."""
    if text in {"external", "internal"}:
        return 0
    high, dot, low = text.partition(".")
    return whole(high) << 16 | whole(low) if dot else whole(high)


PORT_NAME = Codec(r"Eth\d+/\d+(?:/\d+)?", partial(needed, read=words.interface), word=r"\S.*", shown_as="port")
ASN = Codec(r"-?\d+", _asn, shown_as="number")
PREFIX = Codec(r"[0-9a-f.:]+/\d+", Prefix.read, shown_as="prefix")
TARGET = Codec(r"\d+:\d+", shown_as="target")
DISTINGUISHER = Codec(r"[\d.]+:\d+", shown_as="rd")
