"""docs/cli.md: every verb with its arguments and options, from the parsers themselves."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docs.shared_rows import common_rows, linked, placed
from typer.main import get_command

from railweave.cli.app import app
from railweave.host import options as host

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

HEAD = """## Every command

`railweave VERB -h` prints the same, with the options of many verbs.
"""

MORE = " [OPTION …]"
"""The end of a usage line, which the tables of options below it make plain."""
MANY = "options-of-many-verbs"
"""The anchor of the options that many verbs have; those of ``railweave host`` have texts of their own."""
MANY_OF_HOST = "options-of-many-verbs-of-railweave-host"


@dataclass(frozen=True)
class Verb:
    """A command as its parser has it: its words, what it does, how it is called, and its arguments and options with their help."""

    words: tuple[str, ...]
    about: str
    usage: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The command that a heading shows."""
        return " ".join(("railweave", *self.words))


def cli_reference() -> str:
    """The page."""
    every = list(verbs())
    sections = {
        of_host: Section(
            {verb.title: verb.options for verb in every if verb.options and (verb.words[0] == "host") == of_host}
        )
        for of_host in (False, True)
    }
    parts = [HEAD, sections[False].many("### Options of many verbs")]
    alike: dict[tuple[object, ...], str] = {}
    for verb in every:
        of_host = verb.words[0] == "host"
        level = "####" if of_host and len(verb.words) > 1 else "###"
        parts += [f"\n{level} {verb.title}\n", verb.about]
        if verb.words == ("host",):
            parts.append(" [Bring up a GPU server](howto/bring-up-a-gpu-server.md) explains how to use it.\n")
            parts.append(sections[True].many("#### Options of many verbs of `railweave host`"))
        elif verb.words == ("flows",):
            usage = verb.usage.partition("\n")[0].removeprefix("Usage: ")
            parts.append(
                f"\n\n```\n{usage}\n```\n\n[The packet engine](engine.md#options) has the options, shapes and files.\n"
            )
        elif first := alike.get((verb.words[:-1], verb.options)) if len(verb.options) > 2 else None:
            parts.append(f" Options: [as `{first}`](#{first.replace(' ', '-')}).\n")
        else:
            alike[verb.words[:-1], verb.options] = verb.title
            usage = "" if of_host else f"```\n{verb.usage.removesuffix(MORE)}\n```\n\n"
            parts += ["\n\n", usage, sections[of_host].options(verb.title, MANY_OF_HOST if of_host else MANY)]
    return linked("".join(parts))


def common_texts() -> set[str]:
    """Return the texts of the options that many verbs of the command line have; docs/api.md refers to them."""
    rows = {verb.title: verb.options for verb in verbs() if verb.words[0] != "host"}
    return {text.removesuffix(REPEATED_TEXT) for texts in common_rows(rows).values() for text in texts}


class Section:
    """The verbs of a section of the page, with their options."""

    def __init__(self, rows: dict[str, tuple[tuple[str, str], ...]]) -> None:
        """Find the options that are common, and those that all verbs take, or all but two."""
        self.common = common_rows(rows)
        self.places = placed(rows)
        lacking = {
            name: [verb for verb, options in rows.items() if all(name != option for option, _ in options)]
            for name in self.common
        }
        self.general = {name: verbs for name, verbs in lacking.items() if len(verbs) <= 2}

    def many(self, heading: str) -> str:
        """Return the section of the options that are the same at many verbs. A verb with a less frequent text is named before the text."""
        cells: list[tuple[str, str]] = []
        for name, texts in self.common.items():
            first, *others = texts.items()
            meanings = [first[0], *(f"At {_verbs(users)}: {text}" for text, users in others)]
            cells.append((name, " ".join(meanings)))
        taken: dict[tuple[str, ...], list[str]] = {}
        for name, without in self.general.items():
            taken.setdefault(tuple(without), []).append(_name(name))
        about = [
            f"All verbs{f' but {_verbs(without)}' if without else ''} take {' and '.join(names)}."
            for without, names in taken.items()
        ]
        about.append(
            "After *Also*, a verb names the others that it takes. An option with … may be given several times."
        )
        return f"\n{heading}\n\n{' '.join(about)}\n\n{_table(cells)}"

    def options(self, verb: str, anchor: str) -> str:
        """Return the options of a verb: a table of its own, and the names of those that are described elsewhere."""
        places = self.places[verb]
        parts = [_table(places.own)] if places.own else []
        named = {f"[As at `{other}`](#{other.replace(' ', '-')})": names for other, names in places.earlier.items()}
        named[f"[Also](#{anchor})"] = [name for name in places.common if name not in self.general]
        parts += [f"{place}: {', '.join(map(_name, names))}.\n" for place, names in named.items() if names]
        return "\n".join(parts)


def _verbs(titles: Sequence[str]) -> str:
    """Name verbs; those of one group together, as in ``deploy drain``, ``undrain``."""
    groups: dict[str, list[str]] = {}
    for title in titles:
        *group, verb = title.removeprefix("railweave ").split()
        groups.setdefault(" ".join(group), []).append(verb)
    return ", ".join(
        f"`{' '.join(filter(None, (group, verbs[0])))}`" + "".join(f", `{verb}`" for verb in verbs[1:])
        for group, verbs in groups.items()
    )


def _name(spelled: str) -> str:
    """Return the name by which a line names an option: the long one, without its value and its other spellings."""
    names = re.findall(r"`(-[^`]*)`", spelled)
    return f"`{next((name for name in names if name.startswith('--')), names[0])}`" if names else spelled


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
            rows = [(f"`{param.name.upper()}`", param.help or "") for param in arguments]
            for param in options:
                spelled = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
                rows.append(
                    (f"{spelled} `{param.metavar}`" if param.metavar else spelled, f"{param.help or ''}{_more(param)}")
                )
            *pieces, _ = command.collect_usage_pieces(None)
            usage = " ".join(("railweave", *words, *pieces, "[OPTION …]"))
            yield Verb(words, _prose(inspect.getdoc(command.callback) or ""), usage, tuple(rows))


def _commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - Click's own
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
    else:
        for name, subcommand in below.items():
            yield from _commands(subcommand, *words, name)


def _more(option: Any) -> str:  # noqa: ANN401 - likewise
    """Return the sentences that ``--help`` prints in brackets: that the option is required, its variable, its default."""
    default = option.opts[0] if option.is_flag and option.default is True else option.default
    sentences = " Required." if option.required else ""
    sentences += f" Environment variable: `{option.envvar}`." if option.envvar else ""
    return sentences + (
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


REPEATED_TEXT = " May be repeated."


def _table(rows: Sequence[tuple[str, str]]) -> str:
    """Return rows as a table. An option that may be repeated has dots after its value, in place of a sentence."""
    rows = [
        (f"{left} …", right.removesuffix(REPEATED_TEXT)) if right.endswith(REPEATED_TEXT) else (left, right)
        for left, right in rows
    ]
    cells = [f"| {left.replace('|', chr(92) + '|')} | {right.replace('|', chr(92) + '|')} |" for left, right in rows]
    return "\n".join(["| | |", "|---|---|", *cells, ""])
