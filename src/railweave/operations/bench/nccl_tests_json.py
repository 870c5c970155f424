"""The JSON that nccl-tests write with ``-J``, since 2.17.

Traps (``src/util.cu``): the whole environment stands in it, of which only what ``kept`` allows is taken; numbers that are none are the
string ``nan``; truths are strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.operations.bench.lines import Notes, count, counted, measured, words
from railweave.operations.bench.nccl_tests import (
    Measured,
    NcclTests,
    NcclTestsRow,
    Rank,
    kept,
    operation_of,
    operation_of_file,
    version_of,
)
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator


_KNOWN = {"size", "count", "type", "redop", "root", "actual_iterations", "experiment_name"}


def read_nccl_tests_json(text: str, notes: Notes) -> list[NcclTests]:
    """The run of such a file; none, with a note, where it is no JSON, as that of a test that was killed. Never raises."""
    try:
        found = parse_json(text)
    except ValueError as error:
        notes.add(getattr(error, "lineno", 0), f"not JSON, as of a test that did not end: {error}")
        return []
    if not isinstance(found, dict):
        notes.add(1, "no object")
        return []
    return [_run(cast("dict[str, Any]", found), notes)]


def _run(found: dict[str, Any], notes: Notes) -> NcclTests:
    args = [words(one) for one in _list(found.get("args"))]
    config = _dict(found.get("config"))
    ranks = tuple(_ranks(config))
    bounds, average = _dict(found.get("out_of_bounds")), _dict(found.get("average_bus_bandwidth"))
    variables = tuple(_variables(found.get("env")))
    rccl = "rccl" in " ".join(args).lower() or any(name.startswith("RCCL") for name, _ in variables)
    library: Literal["NCCL", "RCCL"] = "RCCL" if rccl else "NCCL"
    rows = tuple(_rows(found, notes))
    cpu = any("cpu_time" in _dict(_dict(one).get("out_of_place")) for one in _list(found.get("results")))
    return NcclTests(
        file=notes.file,
        line=1,
        operation=(operation_of(args[0]) if args else "") or operation_of_file(notes.file),
        library=library,
        tests_version="",
        library_version=version_of(count(found.get("nccl_version")) or 0),
        cpu_time=cpu,
        settings=tuple((key, str(one)) for key, one in config.items() if isinstance(one, str | int | float)),
        ranks=ranks,
        rank_count=len(ranks) or None,
        node_count=len({one.host for one in ranks}) or None,
        rows=rows,
        out_of_bounds=counted(bounds.get("count"), "out of bounds values", 0, notes),
        average_busbw_gbytes_per_s=_number(average.get("bandwidth"), "average bus bandwidth", notes),
        average_is_enough={"true": True, "false": False}.get(str(average.get("okay")).lower()),
        concluded="end_time" in found,
        failures=tuple((0, words(one)[:300]) for one in _list(found.get("errors")) if words(one).strip()),
        variables=variables,
        began=words(found.get("start_time")),
        command=" ".join(args)[:2000],
    )


def _rows(found: dict[str, Any], notes: Notes) -> Iterator[NcclTestsRow]:
    for place, one in enumerate(_list(found.get("results")), 1):
        row = _dict(one)
        size = count(row.get("size"))
        if size is None or size < 0:
            notes.add(0, f"result {place} has no size")
            continue
        redop = words(row.get("redop"))
        yield NcclTestsRow(
            0,
            size,
            count=count(row.get("count")),
            type=words(row.get("type")),
            redop="" if redop == "none" else redop,
            root=count(row.get("root")),
            out_of_place=_measured(row, "out_of_place", f"result {place}", notes),
            in_place=_measured(row, "in_place", f"result {place}", notes),
            others=tuple((name, str(one)) for name, one in row.items() if name not in _KNOWN and _plain(one)),
        )


def _plain(given: object) -> bool:
    return isinstance(given, str | int | float) and bool(str(given))


def _number(given: object, name: str, notes: Notes) -> float | None:
    """Return the number; ``nan`` stands for what was not measured, and of no message there is no bandwidth."""
    return None if given in ("nan", "-nan", "N/A") else measured(given, name, 0, notes)


def _measured(row: dict[str, Any], place: str, where: str, notes: Notes) -> Measured | None:
    def read(one: dict[str, Any], *names: str) -> float | None:
        name = next((name for name in names if name in one), "")
        return _number(one.get(name), f"{where}: {place} {name}", notes)

    given, each = row.get(place), _dict(row.get(f"{place}_per_iter"))
    if not isinstance(given, dict):
        return None
    found = cast("dict[str, Any]", given)
    return Measured(
        time_us=read(found, "time", "cpu_time"),
        algbw_gbytes_per_s=read(found, "alg_bw"),
        busbw_gbytes_per_s=read(found, "bus_bw"),
        wrong=read(found, "nwrong"),
        event_us=read(found, "hip_event_time"),
        fastest_us=read(each, "min_us"),
        slowest_us=read(each, "max_us"),
        p99_us=read(each, "p99_us"),
        variation_percent=read(each, "cv_pct"),
    )


def _ranks(config: dict[str, Any]) -> Iterator[Rank]:
    for one in map(_dict, _list(config.get("devices"))):
        rank = count(one.get("rank"))
        if rank is not None:
            yield Rank(
                rank,
                count(one.get("group")) or 0,
                count(one.get("pid")) or 0,
                words(one.get("hostname")),
                count(one.get("device")) or 0,
                words(one.get("device_hex")),
                words(one.get("device_info")),
            )


def _variables(given: object) -> Iterator[tuple[str, str]]:
    pairs = (
        [f"{key}={one}" for key, one in cast("dict[str, Any]", given).items()]
        if isinstance(given, dict)
        else map(words, _list(given))
    )
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if equals and kept(name):
            yield name, text


def _dict(given: object) -> dict[str, Any]:
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _list(given: object) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else []
