"""What a check says, and the list of all checks. Each check is a function that looks at one thing and gives outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .server import Server, WantedNic

OK, WARNING, FAILED, NOT_APPLICABLE, COULD_NOT_TELL = "ok", "warning", "failed", "not applicable", "could not tell"
VERDICTS = (OK, WARNING, FAILED, NOT_APPLICABLE, COULD_NOT_TELL)


@dataclass(frozen=True)
class Outcome:
    """One verdict on one thing.

    ``of`` is the thing: a NIC, a GPU; empty for the server. ``seen`` and ``wanted`` are values as a person reads them,
    ``origin`` is where the wanted value comes from, ``remedy`` the command or the act that mends it.
    """

    verdict: str
    seen: str
    wanted: str = ""
    origin: str = ""
    remedy: str = ""
    of: str = ""


def ok(seen: object, of: str = "") -> Outcome:
    """As it should be."""
    return Outcome(OK, str(seen), of=of)


def failed(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """A job would fail, or be slow, by this."""
    return Outcome(FAILED, str(seen), str(wanted), origin, remedy, of)


def warning(seen: object, wanted: object, origin: str, remedy: str, of: str = "") -> Outcome:
    """Worth a look: it may harm, or not."""
    return Outcome(WARNING, str(seen), str(wanted), origin, remedy, of)


def failed_or_ok(wrong: list[str], good: str, wanted: object, origin: str, remedy: str) -> Outcome:
    """Failed with all that is wrong in one line, or ok with ``good`` where nothing is."""
    return failed("; ".join(wrong), wanted, origin, remedy) if wrong else ok(good)


def not_applicable(why: str, of: str = "") -> Outcome:
    """This machine has no such thing."""
    return Outcome(NOT_APPLICABLE, why, of=of)


def could_not_tell(why: str, of: str = "") -> Outcome:
    """It was not seen: never counted as good."""
    return Outcome(COULD_NOT_TELL, why, of=of)


@dataclass(frozen=True)
class Check:
    """A check: ``look`` is called once, or once for each planned NIC where ``per_nic``.

    ``what`` is the rule in a sentence, ``why`` what happens otherwise, ``how`` the file or command it reads, ``source`` the
    document that says so. ``root``: without root it sees nothing, or less. ``unless`` is called first, with the same
    arguments, and gives the reason why the check is not applicable, or nothing.
    """

    id: str
    subject: str
    what: str
    why: str
    how: str
    source: str
    root: bool
    per_nic: bool
    look: Callable[..., Iterator[Outcome]] = field(compare=False)
    unless: Callable[..., str] | None = field(default=None, compare=False)


ALL: dict[str, Check] = {}
"""Every check by its id, in the order in which they are shown."""


def of_server(
    name: str,
    *,
    what: str,
    why: str,
    how: str,
    source: str,
    root: bool = False,
    unless: Callable[[Server], str] | None = None,
) -> Callable[[Callable[[Server], Iterator[Outcome]]], Callable[[Server], Iterator[Outcome]]]:
    """Enter a function as a check of the whole server."""

    def enter(look: Callable[[Server], Iterator[Outcome]]) -> Callable[[Server], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), what, why, how, source, root, False, look, unless))
        return look

    return enter


def of_nic(
    name: str,
    *,
    what: str,
    why: str,
    how: str,
    source: str,
    root: bool = False,
    unless: Callable[[Server, WantedNic], str] | None = None,
) -> Callable[[Callable[[Server, WantedNic], Iterator[Outcome]]], Callable[[Server, WantedNic], Iterator[Outcome]]]:
    """Enter a function as a check of each planned NIC that is there."""

    def enter(
        look: Callable[[Server, WantedNic], Iterator[Outcome]],
    ) -> Callable[[Server, WantedNic], Iterator[Outcome]]:
        _enter(Check(name, _subject(look), what, why, how, source, root, True, look, unless))
        return look

    return enter


def _enter(check: Check) -> None:
    assert check.id not in ALL, check.id  # noqa: S101 - two checks of one name are a slip in this program
    ALL[check.id] = check


def _subject(look: Callable[..., object]) -> str:
    """The name of the module that the function is in."""
    return look.__module__.rpartition(".")[2]
