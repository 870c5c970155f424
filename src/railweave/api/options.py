"""Options that are declared once, as fields of a typed value. The command line, the Python functions and both references use them.

The options of a verb (a step such as ``build``) are a frozen dataclass. Its fields are ``Annotated`` with an ``Argument``
or an ``Opt``; a field without either exists only in Python. ``verb`` converts a function of such a value to a function of
separate arguments; ``cli.command`` makes a command of it. The values of all verbs are in ``api.verbs``, which imports
almost nothing, so that the command line starts quickly.
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
    """An option of a verb: its help text, and its form on the command line.

    - ``name``: the option's name, if it differs from the field's name with hyphens.
    - ``letter``: its one-letter form.
    - ``metavar``: the placeholder for its value in the help text.
    - ``least`` and ``most``: the limits of a number.
    - ``envvar``: the environment variable that can set it.
    - ``words``: a function that returns values for shell completion.
    - ``kind``: its type on the command line, if different from the field's type.
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
    """A positional argument of a verb. ``name`` is its name in the help text."""

    help: str
    name: str = ""
    kind: Any = None


@dataclass(frozen=True)
class OptionField:
    """A field of a class of options, as the command line and the references use it.

    ``default`` is ``MISSING`` if the field is required. ``shown`` is None if the field exists only in Python.
    """

    field: str
    type: Any
    default: Any
    shown: Opt | Argument | None


class _Unloaded:
    """A placeholder for a type that only type checkers import."""

    def __class_getitem__(cls, _: object) -> type:
        return cls


class _Names(UserDict[str, Any]):
    """The names in a module, for evaluating its annotations. A name that only type checkers import is ``_Unloaded``."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401  # a name may be of anything
        return getattr(builtins, name, _Unloaded)


def declared(options: type) -> Iterator[OptionField]:
    """Yield the fields of a class of options, in the order of the function's arguments."""
    homes = {
        name: names
        for home in reversed(options.__mro__)
        for names in [_Names(vars(sys.modules[home.__module__]))]
        for name in vars(home).get("__annotations__", {})
    }
    for field in sorted(fields(options), key=lambda option: bool(option.kw_only)):
        hint = eval(str(field.type), {}, homes[field.name])  # noqa: S307 - an annotation in railweave's own source
        shown = None
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            shown = next((word for word in more if isinstance(word, Opt | Argument)), None)
        yield OptionField(field.name, hint, field.default, shown)


class Verb(Protocol[P, Options_contra, Result_co]):
    """A function to call with separate arguments, or (``of``) with one value that has all options."""

    def __call__(self, *words: P.args, **named: P.kwargs) -> Result_co:
        """Run the verb with separate arguments."""
        ...

    def of(self, options: Options_contra, /) -> Result_co:
        """Run the verb with one value that has all options."""
        ...


def verb(
    options: Callable[P, Any],
) -> Callable[[Callable[[Options_contra], Result_co]], Verb[P, Options_contra, Result_co]]:
    """Return a decorator that converts a function of one options value to a function of separate arguments.

    ``options`` is the class of the value.
    """

    def decorate(run: Callable[[Options_contra], Result_co]) -> Verb[P, Options_contra, Result_co]:
        @functools.wraps(run)
        def called(*words: P.args, **named: P.kwargs) -> Result_co:
            return run(options(*words, **named))

        signature = inspect.signature(options)
        plain = [parameter.replace(annotation=annotation(parameter)) for parameter in signature.parameters.values()]
        given = signature.replace(parameters=plain, return_annotation=run.__annotations__.get("return"))
        option_lines = [
            f"- ``{option.field}``: {option.shown.help}"
            for option in declared(cast("type", options))
            if option.shown is not None
        ]
        called.__doc__ = "\n".join([inspect.getdoc(run) or "", "", *option_lines])
        called.__dict__.update(__signature__=given, of=run)
        return cast("Verb[P, Options_contra, Result_co]", called)

    return decorate


def annotation(parameter: inspect.Parameter) -> str:
    """Return the type of a parameter as written in the source, without ``Annotated`` and its option."""
    kind = ast.parse(str(parameter.annotation), mode="eval").body
    inside = kind.slice if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated" else None
    return ast.unparse(inside.elts[0] if isinstance(inside, ast.Tuple) else kind)
