"""State tables: the commands that query a switch, and the fields of ``DeviceState`` that their answers fill.

Each system has two tables. A row of the first is a query: the name of its answer, the command, and when and how often the
command is sent. A row of the second is a field of ``DeviceState``: the function that reads the field, and the answers that
this function needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from railweave.model.state.device_state import DeviceState
from railweave.model.state.question import DEFAULT_VRF, Form, Protocol, Question, about
from railweave.model.state.values import Answers, Value

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family
    from railweave.model.device.model import DeviceConfig

When = Literal["", "bgp", "bfd", "isis", "qos", "overlay"]
Each = Literal["", "route", "vrf", "tables", "counts", "counted route"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A query to a switch.

    - ``name``: the name of the answer; ``name?`` means that an error is an acceptable answer.
    - ``when``: the part of the configuration that the query is about, such as ``bgp``. The query is left out if the device
      does not have this part.
    - ``each``: the objects for which the query is repeated. Empty means that it is sent once. ``route`` and ``vrf`` mean once for each
      route or VRF. ``tables`` means once for each VRF and address family, if whole routing tables are requested. ``counts`` means once
      for each address family of the default VRF, if no routing tables are requested; ``counted route`` means once for each route then.
      Name and command may contain ``{vrf}``, ``{prefix}`` and the other keys of ``_words``.
    - ``by``: the key in the system's ``Forms``, which gives the format of the answer.
    - ``revision``: the revision of the answer format to request by eAPI; None if the command has only one.
    """

    name: str
    command: str
    when: When = ""
    each: Each = ""
    by: str = "json"
    revision: int | None = None


Forms = Mapping[str, tuple[Form, Mapping[Protocol, str]]]
"""The formats of a system's answers, each as (format, request by protocol). In a request, ``{}`` stands for the command."""


def asks(when: When, each: Each, *rows: tuple[str, str]) -> tuple[Ask, ...]:
    """Return the queries in ``rows``, given as (name, command). All have the condition ``when`` and the repetition ``each`` of ``Ask``."""
    return tuple(Ask(name, command, when, each) for name, command in rows)


_ANY: dict[Family, str] = {"ipv6": "::/0", "ipv4": "0.0.0.0/0"}
"""The default route of each address family, from which ``_words`` derives the names of the family."""


def _words(vrf: str, prefix: str = "") -> dict[str, str]:
    """Return the values of the placeholders in queries about one VRF and one prefix, such as ``{vrf}``.

    Among them are the address family as commands name it (``ip`` or ``ipv6``), and Junos's names of the routing table.
    """
    six = ":" in prefix
    tables = {name: name if vrf == DEFAULT_VRF else f"{vrf}.{name}" for name in ("inet.0", "inet6.0")}
    return {
        "vrf": vrf,
        "prefix": prefix,
        "about": about("", vrf, prefix),
        "ip": "ipv6" if six else "ip",
        "family": "ipv6" if six else "ipv4",
        "version": "6" if six else "4",
        "of_vrf": "" if vrf == DEFAULT_VRF else f"vrf {vrf}",
        "inside": "" if vrf == DEFAULT_VRF else f"vrf {vrf} ",
        "inet": tables["inet.0"],
        "inet6": tables["inet6.0"],
        "table": tables["inet6.0" if six else "inet.0"],
    }


def end_of(peer: tuple[str, str | None]) -> str | None:
    """Return the identifier of a neighbor: its port if known, otherwise its address; None if both are missing.

    ``peer`` is the pair (address, port).
    """
    return peer[1] or peer[0] or None


Part = tuple[Callable[..., Any], str]
"""A pair: a function that reads a field of the state, and the names of the answers that it gets as arguments.

Without names, the function gets all ``Answers``. If an answer marked ``name!`` is missing, or all unmarked answers are,
the function is not called and its field is absent. Answers marked ``name+`` are optional. In place of a missing answer,
the function gets an empty ``Value``.
"""


def _part(answers: Answers, read: Callable[..., Any], names: str) -> Any:  # noqa: ANN401 - any part
    if not names:
        return read(answers)
    trees = {name: answers.tree(name.rstrip("!+")) for name in names.split()}
    plain = [tree for name, tree in trees.items() if name[-1] not in "!+"]
    lacks = any(tree is None and name.endswith("!") for name, tree in trees.items())
    if lacks or (plain and all(tree is None for tree in plain)):
        for tree in trees.values():
            if tree is not None:
                tree.get("")  # records a note if the answer is not a table; no other code looks at this answer
        return None
    return read(*(Value(answers, name.rstrip("!+"), None) if tree is None else tree for name, tree in trees.items()))


@dataclass(frozen=True, slots=True)
class StateTable:
    """The queries of a system, and the functions that read the answers. It implements ``StateReader``.

    ``NOT_READ`` has the fields of ``DeviceState`` that this system never fills, each with the reason.
    """

    system: str
    forms: Forms
    asked: tuple[Ask, ...]
    parts: Mapping[str, Part]
    NOT_READ: Mapping[str, str]

    def questions(
        self, config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False
    ) -> list[Question]:
        """Return the queries to a switch. ``asked`` are the routes to request, as (VRF, prefix).

        ``tables`` is True to request whole routing tables, and False to request only the numbers of routes.
        """
        protocols = (config.bgp, config.overlay, config.isis)
        has = {
            "": True,
            "bgp": config.bgp is not None,
            "bfd": any(protocol is not None and protocol.bfd is not None for protocol in protocols),
            "isis": config.isis is not None,
            "qos": config.qos is not None,
            "overlay": config.overlay is not None,
        }
        asked = list(asked)
        vrfs = [_words(vrf) for vrf in (DEFAULT_VRF, *(vrf.name for vrf in config.vrfs))]
        each: dict[str, list[dict[str, str]]] = {
            "": [{}],
            "route": [_words(vrf, prefix) for vrf, prefix in asked],
            "vrf": vrfs,
            "tables": [_words(vrf, _ANY[family]) for vrf, family in config.routed() if tables],
            "counts": [
                _words(vrf, _ANY[family]) for vrf, family in config.routed() if not tables and vrf == DEFAULT_VRF
            ],
            "counted route": [_words(vrf, prefix) for vrf, prefix in asked if not tables],
        }
        made: list[Question] = []
        for kind, group in groupby((row for row in self.asked if has[row.when]), key=lambda row: row.each):
            several = list(group)
            made += [self._question(row, words) for words in each[kind] for row in several]
        return list({question.name: question for question in made}.values())

    def _question(self, row: Ask, words: Mapping[str, str]) -> Question:
        form, requests = self.forms[row.by]
        command = " ".join(row.command.format(**words).split()) if words else row.command
        by_protocol: dict[Protocol, str] = {protocol: request.format(command) for protocol, request in requests.items()}
        name = row.name.removesuffix("?").format(**words)
        return Question(name, form, by_protocol, row.name.endswith("?"), row.revision)

    def read(self, answers: Answers) -> DeviceState:
        """Return the state of a switch that its answers show. Never raises an error: an answer that cannot be read is noted in the state."""
        made = {name: _part(answers, *part) for name, part in self.parts.items()}
        return DeviceState(answers.device, self.system, frozenset(answers.texts), **made, notes=answers.notes)
