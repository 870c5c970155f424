"""Create commands of the command line from options that are declared once (``api.options``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import typer

from railweave.api.options import Argument, Opt, OptionField, declared
from railweave.api.verbs import ACCESS, DEVICE, HARDWARE, LAB, PRICES, RUNNING
from railweave.errors import InputError, Option, Problem

Options = TypeVar("Options")
Taken_contra = TypeVar("Taken_contra", contravariant=True)
Command = Callable[..., None]
JSON_HELP = "Print the result, or an error, as JSON."
QUIET = typer.Option(False, "--quiet", "-q", help="Do not show progress.")
LAST = (LAB, ACCESS, RUNNING, DEVICE, HARDWARE, PRICES)
"""Options shared by many verbs. Help lists them after a verb's own options."""


class Body(Protocol[Taken_contra]):
    """The function that carries out a verb. Its arguments are the verb's options and the output form."""

    __name__: str

    def __call__(self, options: Taken_contra, /, *, as_json: bool, quiet: bool) -> None:
        """Run the command and print its result."""
        ...


def command(options: type[Options], json_help: str = JSON_HELP) -> Callable[[Body[Options]], Command]:
    """Return a decorator that turns a function of ``options`` into a command, and adds ``--json`` and ``--quiet``."""
    shown = sorted((declaration for declaration in declared(options) if declaration.shown is not None), key=_place)
    names = _names(shown)
    parameters = [
        *(_parameter(declaration, names[declaration.field]) for declaration in shown),
        *map(_common, ("as_json", "quiet"), (typer.Option(False, "--json", help=json_help), QUIET)),
    ]

    def decorate(body: Body[Options]) -> Command:
        def called(*, as_json: bool, quiet: bool, **given: object) -> None:
            _check_ending("--html", given.get("html"), ".html", "a page")
            _check_ending("--csv", given.get("csv"), ".csv", "a table")
            _check_ending("--sarif", given.get("sarif"), ".sarif", "findings as SARIF")
            body(options(**{field: given[name] for field, name in names.items()}), as_json=as_json, quiet=quiet)

        called.__name__ = body.__name__
        called.__doc__ = inspect.getdoc(body)
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
        called.__dict__["__signature__"] = inspect.Signature(parameters)
        return called

    return decorate


def _check_ending(option: str, file: object, ending: str, content: str) -> None:
    """Raise ``InputError`` if the file name given to an option does not have the required ending."""
    if isinstance(file, Path) and file.suffix != ending:
        fix = f"it gets {content}: call it {file.with_suffix(ending)}"
        raise InputError([Problem(Option(option), f"{file} does not end in {ending}", fix)])


def _place(declaration: OptionField) -> int:
    return LAST.index(declaration.shown) + 1 if declaration.shown in LAST else 0


def _names(shown: Sequence[OptionField]) -> dict[str, str]:
    """Return the parameter name of each field.

    An argument has the name that its help shows. An option has its field's name, with an underscore added if an argument has that name.
    """
    arguments = {
        declaration.field: declaration.shown.name or declaration.field
        for declaration in shown
        if isinstance(declaration.shown, Argument)
    }
    taken = set(arguments.values())
    options = [declaration.field for declaration in shown if declaration.field not in arguments]
    return arguments | {field: f"{field}_" if field in taken else field for field in options}


def _common(name: str, option: bool) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=bool)


def _parameter(declaration: OptionField, name: str) -> inspect.Parameter:
    default: Any = ... if declaration.default is MISSING else [] if declaration.default == () else declaration.default
    value = (
        _option(declaration, declaration.shown, default)
        if isinstance(declaration.shown, Opt)
        else typer.Argument(default, help=declaration.shown.help if declaration.shown else "", metavar=name.upper())
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=_kind(declaration))


def _option(declaration: OptionField, opt: Opt, default: Any) -> Any:  # noqa: ANN401  # typer's own
    name = opt.name or f"--{declaration.field.rstrip('_').replace('_', '-')}"
    return typer.Option(
        default,
        *filter(None, (opt.letter, name)),
        help=opt.help,
        metavar=opt.metavar or _metavar(_kind(declaration)),
        min=opt.least,
        max=opt.most,
        envvar=opt.envvar or None,
        autocompletion=opt.words and _completing(opt.words),
    )


def _metavar(kind: Any) -> str | None:  # noqa: ANN401  # a type
    """Return the placeholder for the value of an option that declares none: ``NUMBER``, ``PATH`` or ``TEXT``; None for a switch."""
    members = {kind, *get_args(kind)}
    if bool in members:
        return None
    return "NUMBER" if members & {int, float} else "PATH" if Path in members else "TEXT"


def _completing(words: Callable[[], Iterable[str]]) -> Callable[[], list[str]]:
    return lambda: list(words())


def _kind(declaration: OptionField) -> Any:  # noqa: ANN401  # a type
    """Return the type of a field on the command line: a list if its default is an empty tuple, a path if its type includes ``Path``."""
    if declaration.shown is not None and declaration.shown.kind is not None:
        return declaration.shown.kind
    if declaration.default == ():
        return list[str]
    parts = get_args(declaration.type)
    if Path in parts:
        return Path | None if type(None) in parts else Path
    return declaration.type
