"""Options declared once: a field of a typed value, from which the command line, the Python function and both references are made.

A verb's options are a frozen dataclass whose fields are ``Annotated`` with an ``Argument`` or an ``Opt``; a field without one is of
Python alone. ``verb`` makes a function of arguments from one that takes the value; ``cli.command`` makes a command. The values
of all verbs are in ``api.verbs``, which imports next to nothing, so that the command line starts soon.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
from collections import UserDict
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, Protocol, TypeVar, cast, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

P = ParamSpec("P")
Options_contra = TypeVar("Options_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class Opt:
    """An option of a verb as users see it: its help, and how the command line has it.

    ``name``: its spelling, if that is not the field's name with hyphens; ``letter``: a short form. ``least`` and ``most`` bound a
    number. ``words`` gives completions. ``kind``: its type on the command line, if different from the field's.
    """

    help: str
    _: KW_ONLY
    name: str = ""
    letter: str = ""
    metavar: str = ""
    least: int | None = None
    most: int | None = None
    envvar: str = ""
    words: Callable[[], Sequence[str]] | None = None
    kind: Any = None


@dataclass(frozen=True)
class Argument:
    """An argument of a verb, which has a place of its own and no name on the command line; ``name``: what help calls it."""

    help: str
    name: str = ""
    kind: Any = None


@dataclass(frozen=True)
class OptionField:
    """A field of options, as the command line and the references need it; ``default`` is ``MISSING`` where it must be given."""

    field: str
    type: Any
    default: Any
    shown: Opt | Argument | None


class _Unloaded:
    """A type that is imported for type checkers alone."""

    def __class_getitem__(cls, _: object) -> type:
        return cls


class _Names(UserDict[str, Any]):
    """The names of a module as its annotations use them; one that only type checkers import is ``_Unloaded``."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401  # a name may be of anything
        return getattr(builtins, name, _Unloaded)


def declared(options: type) -> Iterator[OptionField]:
    """Every field of a value of options, in the order of its arguments."""
    homes = {
        name: names
        for home in reversed(options.__mro__)
        for names in [_Names(vars(sys.modules[home.__module__]))]
        for name in vars(home).get("__annotations__", {})
    }
    for field in sorted(fields(options), key=lambda option: bool(option.kw_only)):
        hint = eval(str(field.type), {}, homes[field.name])  # noqa: S307  # an annotation of our own
        shown = None
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            shown = next((word for word in more if isinstance(word, Opt | Argument)), None)
        yield OptionField(field.name, hint, field.default, shown)


class Verb(Protocol[P, Options_contra, Result_co]):
    """A function of arguments, and of options as one value."""

    def __call__(self, *words: P.args, **named: P.kwargs) -> Result_co:
        """Do it."""
        ...

    def of(self, options: Options_contra, /) -> Result_co:
        """Do it with options as one value."""
        ...


def verb(
    options: Callable[P, Any],
) -> Callable[[Callable[[Options_contra], Result_co]], Verb[P, Options_contra, Result_co]]:
    """Return a decorator: a function that takes options as one value is called with them as arguments."""

    def decorate(run: Callable[[Options_contra], Result_co]) -> Verb[P, Options_contra, Result_co]:
        @functools.wraps(run)
        def called(*words: P.args, **named: P.kwargs) -> Result_co:
            return run(options(*words, **named))

        signature = inspect.signature(options)
        plain = [parameter.replace(annotation=annotation(parameter)) for parameter in signature.parameters.values()]
        given = signature.replace(parameters=plain, return_annotation=run.__annotations__.get("return"))
        told = [
            f"- ``{option.field}``: {option.shown.help}"
            for option in declared(cast("type", options))
            if option.shown is not None
        ]
        called.__doc__ = "\n".join([inspect.getdoc(run) or "", "", *told])
        called.__dict__.update(__signature__=given, of=run)
        return cast("Verb[P, Options_contra, Result_co]", called)

    return decorate


def annotation(parameter: inspect.Parameter) -> str:
    """Return the type of a parameter of options as it is written, without what the command line says of it."""
    kind = ast.parse(str(parameter.annotation), mode="eval").body
    inside = kind.slice if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated" else None
    return ast.unparse(inside.elts[0] if isinstance(inside, ast.Tuple) else kind)
