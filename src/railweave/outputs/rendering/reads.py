"""Generator of docs/reading.md: the statements of each system that railweave understands, from its ``system.yaml`` and statement tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.pages.table import Table, columns
from railweave.systems.statement_tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.catalog.systems import System
    from railweave.model.config.statements import Statements

_HEAD = """# What is understood of a configuration

railweave reads configuration text of switches into the same value that it renders text from (`DeviceConfig`, [device-config.md](device-config.md)).
`railweave verify OUT`, `verify FABRIC --running SAVED`, `railweave drift` and `railweave import` all stand on these readers. How to save
configurations is in [capture.md](capture.md).

A reader gives two things: the configuration, and every statement with what became of it:

- **understood**: it is part of the configuration that was read;
- **irrelevant**: it changes nothing that railweave looks at, by the system's lists below, which say why;
- **unknown**: nothing is known of it. It is never dropped in silence: `import` names it with its line, and `drift` where it is not designed. Designs, paths
  and predictions take no account of it, except in a routing policy. A term with a statement that is not understood has an unknown result. Where a route
  reaches such a term, `verify` reports `routes-not-known`, and no check that needs routes says that all is well.

No pattern covers a statement that can shut, drain, filter, reorder or disable something. Such a statement is understood, or it is unknown.

Every reader is tested on one rule: what railweave renders for an example, or for a network drawn at random, on any of the five systems, reads back
as the same configuration, but for the fields that the text of that system has no words for. Those are listed below with the reason. Where
such text is changed, the fields that it has no words for stay as they are designed.

Configurations of others hold things that `DeviceConfig` has no place for. Readers leave them unknown on purpose, because routes or packets go by them: static
routes, OSPF in VRFs or beside sessions of BGP on links, LAGs with segment identifiers (multihoming), leaking between VRFs, own AS numbers
that are let in again (`loops`, `allowas-in`), and translation of VNIs between data centers.

Some things are read that no design has, and no renderer writes: OSPF of the default VRF, whose areas routes take as one (not on Enterprise SONiC by Dell);
prefix lists whose entries deny or differ in lengths; EVPN on the sessions of links; BFD settings of one group. A trunk may carry several VLANs with a tag. A port
that is shut carries nothing, and a session that is shut has no routes. A cable whose ends differ in speed or in forward error correction is down.

The readers were tried on public configurations that were fetched for this on 2026-11-29 and are no part of railweave: 1,736 devices of 39 repositories and two pages,
whose commits the tables have. Every statement counts once. *Understood* is the share of all statements that are in the configuration that was read;
irrelevant ones do not count as understood. "Before" are the same files by the readers of commit 7958d393, whose irrelevant statements were matched line
by line: what is unknown now and was not so before is listed with the reason.

A text may lack something that the rest of it needs, for example the PFC priority of a lossless class. Everything else is checked all the same, and the
finding `incomplete-config` names the device and the field. `python -m tests.mutants.configs 100000 1` in a checkout (a number and a seed) drops, empties and
swaps fields of configurations and lines of texts, and prints every exception that this leads to: there is none.
"""


def reading_page() -> str:
    """Return the text of the page."""
    systems = (line for nos, system in catalog().systems.items() for line in _of(nos, system))
    return "\n".join([_HEAD, *_faults(), *systems]).rstrip("\n") + "\n"


def _faults() -> Iterator[str]:
    """Yield the lines of the section on how many faults ``verify`` finds in each system's configurations."""
    yield "How well `railweave verify OUT` finds mistakes was measured with faults drawn at random over all statements that matter: added, dropped, changed and moved, at one"
    yield "end of a link or at both. A fault is found if there is any finding, and named if a finding of the right id has its line. To repeat it for a system, run"
    yield "`python -m tests.mutants.score junos 500 1` in a checkout: the system, the number of faults and the seed. The table has seed 1; with seeds 2 and 3 the"
    yield "shares are 95 % or more."
    yield ""
    measured = ((system.description, system.reads.faults) for system in catalog().systems.values())
    yield from _table(
        ("system", "faults", "found", "named by the right id and line"),
        (
            (name, str(faults.number), f"{faults.found:g} %", f"{faults.named:g} %")
            for name, faults in measured
            if faults is not None
        ),
    )


def _of(nos: str, system: System) -> Iterator[str]:
    reads = system.reads
    yield f"## {system.description}"
    yield ""
    if reads.tried:
        yield "Configurations that others have published, and how many of their statements are understood, as above."
        yield ""
        head = ("where", "files", "statements", "understood", "or irrelevant", "understood before", "note")
        yield from _table(
            head,
            (
                (
                    each.where,
                    str(each.files),
                    str(each.statements),
                    *map(_percent, (each.understood, each.known, each.before)),
                    each.note,
                )
                for each in reads.tried
            ),
        )
        head = ("unknown now, and not before", "statements", "because")
        yield from _table(head, ((each.form, str(each.number), each.because) for each in reads.taken_back))
    yield from _table(
        ("its text has no words for", "because"), ((f"`{path}`", why) for path, why in reads.unsaid.items())
    )
    yield from _table(
        ("what it does where the text does not say", "value", "source"),
        ((f"`{field}`", str(default.value), default.source) for field, default in reads.defaults.items()),
    )
    yield from _table(("it writes by itself", "source"), _patterns(reads.by_itself))
    yield from _table(("irrelevant are statements that begin so", "because"), _patterns(reads.irrelevant))
    without_effect = (row for table in tables(nos).values() for row in _passed(table, ""))
    yield from _table(("irrelevant are these statements, whole", "because"), without_effect)


def _percent(share: float) -> str:
    return f"{share:g} %"


def _passed(table: Statements[Any], above: str) -> Iterator[tuple[str, str]]:
    """Yield the forms of statements that say nothing of what is read, each with the reason."""
    for row, forms, inner in table.statements():
        texts = [f"{above}{form.text}" for form in forms]
        if row.reason:
            yield from ((f"`{text}`", row.reason) for text in texts)
        if inner is not None:
            yield from _passed(inner, f"{texts[0]} / ")


def _patterns(patterns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"`{pattern}`", why) for pattern, why in patterns.items())


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    """Yield the lines of a Markdown table and an empty line. Yield nothing if the table has no rows."""
    table = Table(columns(*head), tuple(rows))
    if table.rows:
        yield from (*table.to_markdown(), "")
