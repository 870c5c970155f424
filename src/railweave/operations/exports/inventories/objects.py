"""The objects of an inventory server that a design has, as values: the kinds of objects, and their fields with references to each other.

A ``Product`` has the differences between NetBox and Nautobot: paths, fields and identities of its kinds of objects, the names of its
filters, and the form of the ends of a cable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.model.network.model import Network

Key = tuple[str, ...]
"""The values that identify an object among those of its kind, for example the names of a device and its interface."""
Record = dict[str, Any]
"""An object as a server sends it."""
Id = int | str
"""The id of an object on a server: a number in NetBox, a UUID in Nautobot."""
Known = dict[tuple[str, Id], Key]
"""The keys of a server's objects in the design, by kind and id."""
Ends = dict[str, list[tuple[str, Id]]]
"""The objects at the sides ``a`` and ``b`` of a cable: the type and the id of each."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference from one object to another. The API takes the other's id; NetBox's import pages take a name."""

    kind: str
    key: Key


Value = str | int | float | bool | Reference | tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """An object that a design has.

    ``fields`` lacks the values that the design does not know. They are not compared, so a value that an operator
    enters on the server stays.
    """

    kind: str
    key: Key
    fields: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The name of the object in reports, for example ``leaf1 et-0/0/1:0``."""
        return " ".join(part for part in self.key if part)


def cable_ends(item: Item) -> tuple[Reference, Reference]:
    """Return the interfaces at the two ends of a cable."""
    a_device, a_port, b_device, b_port = item.key
    return Reference("interface", (a_device, a_port)), Reference("interface", (b_device, b_port))


DEVICES = "devices"
"""In ``Kind.by``: the ids of the design's devices."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects.

    - ``name``: the name in references and reports, such as ``device type``. ``plural``: the plural, if it is irregular.
    - ``path``: the path of the API below ``/api/``.
    - ``by``: the filters that find the objects. The value is the field of the design's objects that a filter takes, or ``DEVICES``.
    - ``named``: True if the objects are identified by their name, or else by their slug.
    - ``identity``: the fields of a server's object whose values are its key. ``more``: further keys that it may have.
    - ``at_creation``: fields that are sent only when an object is created. People often choose other values for these.
    - ``shared``: True for kinds that a network shares with others, such as manufacturers. An object that railweave did
      not make is then used as it is, without a report of differences.
    - ``query``: conditions of each query.
    - ``within``: the field whose object must be one of the design.
    - ``whole``: True if ``by`` also finds objects that the design no longer has.
    - ``field_of``: the kind whose objects get one more field, after the object that the field refers to exists.
    - ``owner``: the field with the object whose tag decides, for kinds that have no tags.
    - ``only_for``: the kind whose new objects need objects of this one; they are not created for others.
    - ``loses_tags``: True if the server does not save the tags of a new object, so that a second request adds them.
    """

    name: str
    path: str
    at_creation: tuple[str, ...] = ()
    by: Mapping[str, str] = field(default_factory=lambda: {"name": "name"})
    identity: tuple[str, ...] = ("name",)
    plural: str = ""
    named: bool = False
    more: Callable[[Known, Record], list[Key]] | None = None
    shared: bool = False
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    within: str = ""
    whole: bool = False
    field_of: str = ""
    owner: str = ""
    only_for: str = ""
    loses_tags: bool = False

    @property
    def many(self) -> str:
        """The plural of the name."""
        return self.plural or f"{self.name}s"


_KIND_OF_FIELD = {"vrf": "VRF", "group": "VLAN group", "vlan_group": "VLAN group", "ip_address": "IP address"}
"""The kinds of the objects that fields of other names refer to."""


def keys_of(kind: Kind, known: Known, record: Record) -> list[Key]:
    """Return the keys that an object of a server can have in a design."""
    if kind.within and (kind.within, record[kind.within]["id"]) not in known:
        return []
    key: list[str] = []
    for name in kind.identity:
        value = record[name]
        if isinstance(value, dict):
            number: Id = record[name]["id"]
            key += known.get((_KIND_OF_FIELD.get(name, name), number), (f"#{number}",))
        elif value is not None:
            key.append(str(value))
    return [*([tuple(key)] if kind.identity else []), *(kind.more(known, record) if kind.more else [])]


class _Items(Protocol):
    """Return the objects of a network."""

    def __call__(self, network: Network, *, site: str = "", tag: str = "railweave") -> list[Item]: ...


@dataclass(frozen=True)
class Product:
    """A kind of inventory servers.

    - ``name``: the name in messages. ``target``: its name in commands, and in the answer of ``/api/status/``.
    - ``oldest``: the oldest supported release. ``because``: the reason.
    - ``kinds``: the kinds of objects in the order in which they are created: an object comes after those that it refers to.
    - ``items``: the objects of a network. Raises ``InputError`` if a server would refuse a name.
    - ``query``: conditions of each query. ``query_of_names``: adds the names of objects that a device or interface refers to.
    - ``batch``: the objects that one request creates or changes.
    - ``place``: the kind of the sites. ``place_filter``: the filter for devices at a site. ``tag_filter``: the filter for a tag.
    - ``loose``: the condition for cables without ends.
    - ``ends_of``: reads the ends of a cable. ``ends_body``: returns the fields that set them; ``new`` is True for a new cable.
    """

    name: str
    target: str
    oldest: tuple[int, int]
    because: str
    kinds: Mapping[str, Kind]
    items: _Items
    batch: int
    place: str
    place_filter: str
    tag_filter: str
    loose: Mapping[str, str]
    query: Mapping[str, str]
    query_of_names: Mapping[str, str]
    ends_of: Callable[[Record], Ends]
    ends_body: Callable[[Mapping[str, Sequence[tuple[str, Id | None]]], bool], Record]

    @property
    def token_variable(self) -> str:
        """The environment variable of the API token."""
        return f"{self.target.upper()}_TOKEN"


def by_name(kinds: Sequence[Kind]) -> dict[str, Kind]:
    """Return kinds by their names."""
    return {kind.name: kind for kind in kinds}


def slug(name: str) -> str:
    """Return the identifier that NetBox uses in URLs: lower-case letters, digits and hyphens.

    For example: ``Junos OS Evolved`` has the slug ``junos-os-evolved``.
    """
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")
