"""Manual pages and shell completions of ``railweave`` and ``railweave-host``, from the parsers themselves: ``python -m docs.man_pages DIR``.

They go into the wheel and the Debian packages, below ``DIR/share``.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from docs.cli_reference import Verb, host_verbs, verbs
from typer.completion import get_completion_script
from typer.main import get_command

from railweave import __version__
from railweave.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPLETIONS = {
    "bash": "bash-completion/completions/railweave",
    "zsh": "zsh/site-functions/_railweave",
    "fish": "fish/vendor_completions.d/railweave.fish",
}
"""The file of each shell's completion, below ``share``."""

EXIT_STATUS = """.SH EXIT STATUS
.TP
.B 0
good; warnings are no errors
.TP
.B 1
errors were found, something differs, or something did not come to its end
.TP
.B 2
the command line or an input file is wrong
.TP
.B 130
interrupted
"""


def man_pages() -> dict[str, str]:
    """Return the page of ``railweave`` and one for each of its verbs, by file name; verbs of two words stand on the page of the first."""
    summaries = {word: command.short_help or command.help for word, command in get_command(app).commands.items()}
    rows = [(f"`railweave-{word}(1)`", summary) for word, summary in summaries.items()]
    pages = {
        "railweave.1": "".join(
            [
                _head("railweave", "design, prove, predict and run the network of a GPU cluster"),
                ".SH SYNOPSIS\n.B railweave\nVERB [ARGUMENT ...] [OPTION ...]\n",
                ".SH DESCRIPTION\nOne fabric file describes a RoCEv2 GPU cluster network. Each verb takes the file, or the folder that\n",
                ".B railweave build\nmade of it. All verbs take\n.BR \\-\\-help ,\n.B \\-\\-quiet\nand\n.BR \\-\\-json .\n",
                ".SH VERBS\n",
                _definitions(rows),
                EXIT_STATUS,
            ]
        )
    }
    for word, members in groupby(verbs(), key=lambda verb: verb.words[0]):
        pages[f"railweave-{word}.1"] = _page(f"railweave-{word}", summaries[word], list(members))
    return pages


def completion_of_host() -> str:
    """Return the bash completion of ``railweave-host``: its verbs, their options, and file names."""
    cases = "".join(
        f"    {verb.words[1]}) words='{' '.join(re.findall(r'--[a-z][a-z0-9-]*', ' '.join(left for left, _ in verb.options)))}' ;;\n"
        for verb in host_verbs()
        if len(verb.words) > 1
    )
    names = " ".join(verb.words[1] for verb in host_verbs() if len(verb.words) > 1)
    return (
        "_railweave_host() {\n  local current=${COMP_WORDS[COMP_CWORD]} words=''\n"
        f'  case "${{COMP_WORDS[1]}}" in\n{cases}  esac\n'
        f"  [ \"$COMP_CWORD\" = 1 ] && words='{names}'\n"
        '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")\n}\n'
        "complete -o default -F _railweave_host railweave-host\n"
    )


def write(folder: Path) -> None:
    """Write every page and completion below a folder, as a system has them below ``/usr``."""
    files = {f"man/man1/{name}": text for name, text in man_pages().items()}
    for shell, name in COMPLETIONS.items():
        files[name] = (
            get_completion_script(prog_name="railweave", complete_var="_RAILWEAVE_COMPLETE", shell=shell) + "\n"
        )
    files["bash-completion/completions/railweave-host"] = completion_of_host()
    for name, text in files.items():
        file = folder / "share" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _page(name: str, summary: str, members: list[Verb]) -> str:
    parts = [_head(name, summary.rstrip(".")), ".SH SYNOPSIS\n"]
    called = [verb for verb in members if verb.usage and "\n" not in verb.usage]
    parts.append("\n.br\n".join(_roff(verb.usage) for verb in called) or f".B {name.replace('-', ' ')}\n[OPTION ...]")
    for verb in members:
        heading = " ".join(verb.words) if len(members) > 1 else "DESCRIPTION"
        parts += [f'\n.SH "{heading.upper()}"\n', _paragraphs(verb.about)]
        if "\n" in verb.usage:
            parts.append(f".PP\n.nf\n{_roff(verb.usage)}\n.fi\n")
        parts.append(_definitions(verb.options))
    return "".join([*parts, EXIT_STATUS, ".SH SEE ALSO\n.BR railweave (1)\n"])


def _head(name: str, summary: str) -> str:
    title = name.upper().replace("-", "\\-")
    return f'.TH {title} 1 "" "railweave {__version__}" "railweave"\n.SH NAME\n{_roff(name)} \\- {_roff(summary)}\n'


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f".TP\n{_roff(left)}\n{_roff(right) or '.sp -1'}\n" for left, right in rows)


def _paragraphs(text: str) -> str:
    return "".join(f".PP\n{_roff(paragraph)}\n" for paragraph in text.strip().split("\n\n") if paragraph)


def _roff(text: str) -> str:
    """The text with what roff would take for markup escaped, links as their words, and code in bold."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text.strip()).replace("\\", "\\e").replace("-", "\\-")
    plain = re.sub(r"``?([^`]+)``?", r"\\fB\1\\fR", plain).replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", plain, flags=re.MULTILINE)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
