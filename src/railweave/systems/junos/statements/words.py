"""Codecs of Junos: the words of values in its statements."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from railweave.model.config.codecs import in_range
from railweave.model.config.statements import Codec
from railweave.systems.junos import words

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, Family

MODEL = "Juniper/yang, 23.4R1-EVO"


def _reference(secret: str) -> str:
    """Return a secret as it stands in a file until ``build --secrets`` puts its value in: ``<secret:NAME>``."""
    return f"<{secret}>"


def _of_family(text: str, family: Family) -> Address:
    found = words.address(text)
    if found.family != family:
        raise ValueError(text)
    return found


WORD = Codec(r"\S+", says="word")
TEXT = Codec(r".+", says="text")
SECRET = Codec(r"\S+", words.secret, _reference, says="secret")
ADDRESS = Codec(r"[0-9a-f.:]+", words.address, says="address")
PREFIX = Codec(r"[0-9a-f.:]+/\d+", words.prefix, says="prefix")
ADDRESSES: dict[Family, Codec] = {
    "ipv4": Codec(r"192\.0\.2\.\d", partial(_of_family, family="ipv4"), word=r"[0-9.]+"),
    "ipv6": Codec(r"2001:db8::\d", partial(_of_family, family="ipv6"), word=r"[0-9a-f.:]+"),
}
"""Addresses of one family."""


def whole(low: int, high: int) -> Codec:
    """Return the codec of a number from ``low`` to ``high``. The reader takes other numbers too."""
    return Codec(in_range(low, high), words.whole, says=f"{low}-{high}")
