"""Rows of ``config_db.json`` as statements, in tables that describe each statement once (``model.config.statements``).

A row of the file becomes a section (``to_section``). The section's header is the table and the parts of the row's key.
Below the header is a line for each field, for example ``tagging_mode untagged`` below
``VLAN_MEMBER Vlan2 Ethernet0``. The members of a list are separated by commas.

The source of a statement is its model in ``src/sonic-yang-models`` of sonic-net/sonic-buildimage, unless another source is
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
    """Return the row of a statement table that describes one kind of row in ``config_db.json``, such as ``VLAN|NAME``.

    In the following, row means a row of ``config_db.json``, and object the object that the statement table prints.

    - ``form``: the table and the key, with placeholders such as ``VLAN <name>``.
    - ``fields``: the fields of the row with placeholders. One text can have several fields, separated by ``; ``. A field whose value is
      empty is
      not printed.
    - ``codecs``, ``more``: the codecs of placeholders, which convert values to text and back. A placeholder without a codec is one word.
    - ``into``: the attribute of the object whose elements each have a row. If ``into`` is empty, the object itself has one row.
    - ``made``, ``by``: the class of these elements, and the placeholder whose value is the key of an element.
    - ``also``: further spellings of ``form`` that are read, but never printed.
    - ``when``: returns True if the row is to be printed.
    - ``since``: the first SONiC branch that supports the row.
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
