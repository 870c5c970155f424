"""The questions of ``init`` on a terminal. Each question has a default. No file is written before the last question is answered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from railweave.api.init_choices import Choice
    from railweave.api.start_verbs import Init

FOLDER, SERVERS = "cluster", 8
"""The defaults of the first two questions."""


def asks(options: Init, *, silent: bool) -> bool:
    """Return True if ``init`` asks its questions.

    It asks them on a terminal if the options name neither an example nor a number of GPUs.
    """
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return on_terminal and not silent and not options.yes and options.gpus is None and options.example is None


def by_default(options: Init) -> Init:
    """Return the options with the defaults of the questions. Raises ``InputError`` for an unknown server model."""
    from railweave.api import init_choices

    each = options.gpus_per_server or init_choices.gpus_of(init_choices.known(options.hardware), options.nic)
    return replace(options, folder=options.folder or Path(FOLDER), gpus=SERVERS * each)


def answered(options: Init) -> Init:
    """Return the options with the answers to the questions.

    Raises ``typer.Abort`` if the operator interrupts, and ``InputError`` if no fabric fits the answers.
    """
    from railweave.api import init_choices

    catalog = init_choices.known(options.hardware)
    typer.echo("Enter takes the default in brackets; Ctrl-C writes nothing. `list` prints the names of models.")
    folder = options.folder or typer.prompt("folder for the files", default=FOLDER)
    count = _number()
    server = _model(
        "server, GPU or NIC model", options.nic, lambda word: init_choices.server_of(catalog, word),
        lambda: init_choices.servers(catalog),
    )  # fmt: skip
    switch = _model(
        "switch vendor or model", options.switch, lambda word: init_choices.switch_of(catalog, word),
        lambda: list(catalog.switches),
    )  # fmt: skip
    gpus = count * (options.gpus_per_server or catalog.servers[server].gpus)
    balance = options.lb
    if balance is None:
        offered = init_choices.balances(catalog, gpus, server, switch)
        balance = offered[0].word
        if len(offered) > 1:
            for each in offered:
                typer.echo(f"  {each.word:5} {each.price}")
            balance = _one_of("load balancing", [each.word for each in offered])
    name = options.name or typer.prompt("name of the network", default=f"rail-{gpus}")
    return replace(options, folder=Path(folder), gpus=gpus, nic=server, switch=switch, lb=balance, name=name)


DECLINED = 2
"""The exit code if the operator does not want the files to be written."""


def confirm(preview: tuple[str, ...]) -> None:
    """Show the addresses, and end the command with code 2 if the operator declines to write the files."""
    for line in preview:
        typer.echo(line)
    if not typer.confirm("write the files?", default=True):
        typer.echo("no file was written, as you asked")
        typer.echo("start again with other answers, or with ranges and names of your own (--addresses FILE)")
        raise typer.Exit(DECLINED)


def _number() -> int:
    while True:
        text = typer.prompt("number of GPU servers", default=str(SERVERS)).strip()
        if text.isascii() and text.isdecimal() and len(text) < 6 and int(text) > 0:
            return int(text)
        typer.echo(f"  {text!r:.60} is not a number of servers: write a whole number from 1 to 99999")


def _model(question: str, default: str, choose: Callable[[str], Choice], names: Callable[[], list[str]]) -> str:
    while True:
        word = typer.prompt(question, default=default).strip()
        if word == "list":
            for line in names():
                typer.echo(f"  {line}")
            continue
        choice = choose(word)
        if not choice.problem:
            typer.echo(f"  {choice.shown}")
            return choice.name
        typer.echo(f"  {choice.problem}")


def _one_of(question: str, words: list[str]) -> str:
    """Ask the operator to choose one of ``words``, and return the choice. The default is the first word."""
    while True:
        word = typer.prompt(question, default=words[0]).strip()
        if word in words:
            return word
        typer.echo(f"  choose one of {', '.join(words)}")
