"""Rows of ``config_db.json`` as statements. Each module has the tables of one subject (``model.config.statements``).

A row of the file becomes a section (``to_section``). The section's header is the table and the parts of the row's key.
Below the header is a line for each field, for example ``tagging_mode untagged`` below
``VLAN_MEMBER Vlan2 Ethernet0``. The parts of a list are separated by commas.

The source of a row is its model in ``src/sonic-yang-models`` of sonic-net/sonic-buildimage, unless another source is
named.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from railweave.model.config.addresses import Address, InterfaceAddress
from railweave.model.config.codecs import choice, number
from railweave.model.config.statements import Codec, Row, each, line, under

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


TEXT = Codec(r"[\s\S]*", word=r"[\s\S]*", shown_as="text")
WORD = Codec(r"\S+", shown_as="word")
ADDRESS = Codec(r"[0-9a-f.:]+", Address.read, shown_as="address")
INTERFACE_ADDRESS = Codec(r"[0-9a-f.:]+/\d+", InterfaceAddress.read, shown_as="prefix")
STATE = choice({True: "enabled", False: "disabled"}, always_enabled=True, always_disabled=False)
ON = choice({True: "enable", False: "disable"})
PORT_NUMBER = number(1, 65535)


MODELS = "sonic-net/sonic-buildimage src/sonic-yang-models"


def row(
    form: str,
    *fields: str | Row,
    into: str = "",
    made: type | None = None,
    by: str = "",
    also: tuple[str, ...] = (),
    when: Callable[[Any], bool] | None = None,
    since: str = "",
    codecs: Mapping[str, Codec],
    **more: Codec,
) -> Row:
    """Return a row of a table. ``form`` is its header, and ``fields`` are the forms of its fields.

    One text in ``fields`` can contain several forms, separated by ``; ``. A slot of a form whose codec is not given is one
    word. A field whose value is an empty text is not printed. If ``into`` is given, there is a row for each element of the
    field ``into``, as in ``statements.each``; otherwise there is one row for the value itself.
    """

    def of(*forms: str) -> dict[str, Codec]:
        return {slot: more.get(slot) or codecs.get(slot, WORD) for slot in re.findall(r"<(\w+)>", " ".join(forms))}

    rows: list[Row] = []
    for part in fields:
        texts = part.split("; ") if isinstance(part, str) else []
        rows += [replace(line(text, MODELS, usual=""), codecs=of(text)) for text in texts] or [cast("Row", part)]
    if not into:
        header = under(form, MODELS, *rows, when=when, since=since)
    else:
        header = each(form, into, MODELS, made, rows, by=by or (), also=also, when=when, since=since)
    return replace(header, codecs=of(form, *also))
