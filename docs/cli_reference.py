"""docs/cli.md: every verb with its arguments and options, from the parsers themselves."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, get_type_hints

from typer.main import get_command

from railweave.cli.app import app
from railweave.host import options as host

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

HEAD = "## Every command\n\n`railweave VERB -h` prints the same.\n"

KINDS = {"Path": "PATH", "int": "NUMBER", "float": "NUMBER", "str": "TEXT"}


@dataclass(frozen=True)
class Verb:
    """A command as its parser has it: its words, what it does, how it is called, and its arguments and options with their help."""

    words: tuple[str, ...]
    about: str
    usage: str = ""
    options: tuple[tuple[str, str], ...] = ()


def cli_reference() -> str:
    """The page."""
    parts = [HEAD]
    for verb in verbs():
        level = "####" if verb.words[0] == "host" and len(verb.words) > 1 else "###"
        parts += [f"\n{level} railweave {' '.join(verb.words)}\n", verb.about]
        if verb.words == ("host",):
            parts.append(" [Bring up a GPU server](howto/bring-up-a-gpu-server.md) explains how to use it.\n")
        elif verb.words == ("flows",):
            parts.append(
                f" [The packet engine](engine.md#raw-runs-of-the-packet-engine) explains how.\n\n```text\n{verb.usage}```\n"
            )
        elif verb.words[0] == "host":
            parts += ["\n\n", _table(verb.options)]
        else:
            parts += [f"\n\n```\n{verb.usage}\n```\n", f"\n{_table(verb.options)}"]
    return "".join(parts)


def verbs() -> Iterator[Verb]:
    """Every verb, in the order of ``railweave --help``. The usage of ``railweave flows`` is its whole help."""
    for words, command in _commands(get_command(app)):
        if words == ("host",):
            yield from host_verbs()
        elif words == ("flows",):
            yield Verb(
                words, "Run flows through the packet engine on a network that needs no fabric file.", _flows_help()
            )
        else:
            arguments = [param for param in command.params if param.param_type_name == "argument"]
            options = [param for param in command.params if param.param_type_name == "option" and not param.hidden]
            names = [param.name.upper() if param.required else f"[{param.name.upper()}]" for param in arguments]
            needed = [f"{param.opts[-1]} {_value(command, param)}" for param in options if param.required]
            rows = [(f"`{param.name.upper()}`", param.help or "") for param in arguments]
            for param in options:
                spelled = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
                value = _value(command, param)
                rows.append((f"{spelled} `{value}`" if value else spelled, f"{param.help or ''}{_more(param)}"))
            usage = " ".join(("railweave", *words, *names, *needed, "[OPTION …]"))
            yield Verb(words, _prose(inspect.getdoc(command.callback) or ""), usage, tuple(rows))


def _commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - Click's own
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
    else:
        for name, subcommand in below.items():
            yield from _commands(subcommand, *words, name)


def _value(command: Any, option: Any) -> str:  # noqa: ANN401 - likewise
    """What stands for an option's value; empty: it has none."""
    if option.is_flag:
        return ""
    if option.metavar:
        return option.metavar
    kind = get_type_hints(command.callback)[option.name]
    plain = next(member for member in getattr(kind, "__args__", (kind,)) if member is not type(None))
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return "|".join(plain)
    return KINDS[plain.__name__]


def _more(option: Any) -> str:  # noqa: ANN401 - likewise
    """Return the sentences that ``--help`` prints in brackets: that the option is required, its variable, its default."""
    default = option.opts[0] if option.is_flag and option.default is True else option.default
    told = " Required." if option.required else ""
    told += f" Environment variable: `{option.envvar}`." if option.envvar else ""
    return told + (
        f" Default: `{default}`." if isinstance(default, str | int | float) and default not in ("", False) else ""
    )


def host_verbs() -> Iterator[Verb]:
    """``railweave host`` and its verbs, whose parser is argparse's."""
    yield Verb(("host",), "Configure and check a GPU server: routing tables and rules, RDMA GIDs, job environment.")
    for name, parser in next(action.choices for action in _actions(host.parser()) if action.dest == "verb").items():
        rows: list[tuple[str, str]] = []
        for action in _actions(parser):
            value = "" if action.nargs == 0 else action.metavar or "|".join(action.choices or ()) or action.dest.upper()
            spelled = ", ".join(f"`{word}`" for word in action.option_strings) + (f" `{value}`" if value else "")
            if action.dest != "help":
                rows.append((spelled.strip(), (action.help or "").replace("%%", "%")))
        usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage:")).strip()
        yield Verb(("host", name), _prose(parser.description or ""), usage, tuple(rows))


def _flows_help() -> str:
    """The help of ``railweave flows``, whose parser is the engine's."""
    return subprocess.run(
        [sys.executable, "-c", "from railweave.cli import main; main()", "flows", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _actions(parser: argparse.ArgumentParser) -> list[Any]:
    """The options of a parser, which argparse tells in no other way."""
    return parser._actions  # noqa: SLF001


def _prose(text: str) -> str:
    return re.sub(r"\n(?!\n)", " ", re.sub(r"\n\n+", "\n\n", text)).replace("\n ", "\n\n")


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = [f"| {left.replace('|', chr(92) + '|')} | {right.replace('|', chr(92) + '|')} |" for left, right in rows]
    return "\n".join(["| | |", "|---|---|", *cells, ""])
