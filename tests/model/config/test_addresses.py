"""Addresses and prefixes as values."""

from __future__ import annotations

import pickle

import pytest
from pydantic import TypeAdapter, ValidationError

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix


def test_text_in_its_one_form() -> None:
    assert Address.read("2001:DB8:0:0::1") == "2001:db8::1"
    assert Prefix.read("10.0.0.0/255.255.255.0") == "10.0.0.0/24"
    assert InterfaceAddress.read("2001:db8::0001/64") == "2001:db8::1/64"


@pytest.mark.parametrize("kind", [Address, Prefix, InterfaceAddress])
@pytest.mark.parametrize("text", ["", "10.0.0", "10.0.0.256", "fe80::/129", "secret:key", "10.0.0.1/33"])
def test_what_is_none_is_refused(kind: type[Address | Prefix | InterfaceAddress], text: str) -> None:
    with pytest.raises(ValueError, match=r"does not appear|has no prefix length|host bits|not permitted"):
        kind.read(text)
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(text)


def test_a_prefix_has_no_bit_beyond_its_length() -> None:
    with pytest.raises(ValueError, match="host bits"):
        Prefix.read("10.0.0.1/24")


def test_parts() -> None:
    assert Address("10.0.0.1").prefix == "10.0.0.1/32"
    assert Address("2001:db8::1").prefix == "2001:db8::1/128"
    one = InterfaceAddress("10.0.0.5/30")
    assert (one.address, one.length, one.prefix) == ("10.0.0.5", 30, "10.0.0.4/30")
    assert (one.prefix.address, one.prefix.length) == ("10.0.0.4", 30)


def test_families() -> None:
    assert {one.family for one in (Address("10.0.0.1"), Prefix("0.0.0.0/0"), InterfaceAddress("10.0.0.1/8"))} == {
        "ipv4"
    }
    assert {one.family for one in (Address("::1"), Prefix("::/0"), InterfaceAddress("::1/128"))} == {"ipv6"}


def test_they_stay_what_they_are() -> None:
    one = Prefix("10.0.0.0/8")
    assert type(pickle.loads(pickle.dumps(one))) is Prefix  # noqa: S301 - its own
    adapter = TypeAdapter(Prefix)
    assert type(adapter.validate_json(adapter.dump_json(one))) is Prefix
