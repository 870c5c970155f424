"""``railweave anomalies``: read, acknowledge and silence the anomalies of a running watch."""

from __future__ import annotations

from time import localtime, strftime, time
from typing import Any

import typer

from railweave.api.anomaly_verbs import (
    AnomaliesAck,
    AnomaliesList,
    AnomaliesSilence,
    AnomaliesSilences,
    AnomaliesUnsilence,
)
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting
from railweave.counting import counted

app = typer.Typer(
    no_args_is_help=True, help="Read, acknowledge and silence the anomalies of a running `railweave watch`."
)
WATCH = "asking the watch"


@app.command("list", short_help="List the anomalies of a running watch.")
@command(AnomaliesList)
def list_(options: AnomaliesList, *, as_json: bool, quiet: bool) -> None:
    """List the open anomalies of a running watch: each cause, with the number of anomalies that it explains. Exits 1 if an error is open that is not silenced."""
    from railweave.api.anomalies import anomalies

    with waiting(WATCH, quiet=quiet or as_json):
        listed = anomalies.of(options)
    if as_json:
        print_json(listed)
    else:
        for line in _lines(listed):
            typer.echo(line)
    loud = [each for each in listed if each["severity"] == "error" and not each["silenced"] and not each["deploy"]]
    if loud and not options.closed:
        raise typer.Exit(1)


def _lines(listed: list[dict[str, Any]]) -> list[str]:
    causes = [each for each in listed if not each["follows"]]
    lines: list[str] = []
    for each in causes:
        below = sum(other["follows"] == f"{each['id']} at {each['where']}" for other in listed)
        begun = strftime("%Y-%m-%d %H:%M:%S", localtime(each["first"]))
        lines.append(
            f"{each['number']:>5} {begun} {each['severity']}: {each['id']} {each['where']}: {each['evidence']}"
        )
        note: dict[str, Any] | None = each["acknowledged"]
        more: list[str] = []
        more += [f"explains {counted(below, 'more anomaly', 'more anomalies')}"] if below else []
        more += [f"acknowledged by {note['by']}: {note['why']}"] if note else []
        more += [f"silenced: {each['silenced']}"] if each["silenced"] else []
        more += ["a deploy is at work"] if each["deploy"] else []
        lines += [f"      {text}" for text in more]
    follow = len(listed) - len(causes)
    return [
        *lines,
        f"{counted(len(causes), 'cause')}, {counted(follow, 'more anomaly', 'more anomalies')} explained by them",
    ]


@app.command(short_help="Acknowledge an anomaly.")
@command(AnomaliesAck)
def ack(options: AnomaliesAck, *, as_json: bool, quiet: bool) -> None:
    """Acknowledge an open anomaly: everyone who sees it sees who takes care of it. It stays open, and receivers are still told."""
    from railweave.api.anomalies import acknowledge

    with waiting(WATCH, quiet=quiet or as_json):
        changed = acknowledge.of(options)
    if as_json:
        print_json(changed)
    else:
        typer.echo(f"acknowledged {changed['number']}: {changed['id']} {changed['where']}")


@app.command(short_help="Silence anomalies for a time.")
@command(AnomaliesSilence)
def silence(options: AnomaliesSilence, *, as_json: bool, quiet: bool) -> None:
    """Silence anomalies for a time: they stay in every list, with the silence, and receivers are not told. An anomaly is silenced if everything given fits."""
    from railweave.api.anomalies import silence as add

    with waiting(WATCH, quiet=quiet or as_json):
        made = add.of(options)
    if as_json:
        print_json(made)
    else:
        typer.echo(
            f"silence {made['number']}: {made['scope']} until {strftime('%Y-%m-%d %H:%M', localtime(made['until']))}"
        )


@app.command(short_help="List silences.")
@command(AnomaliesSilences)
def silences(options: AnomaliesSilences, *, as_json: bool, quiet: bool) -> None:
    """List the silences of a running watch, also those that have ended."""
    from railweave.api.anomalies import silences as listed

    with waiting(WATCH, quiet=quiet or as_json):
        all_silences = listed.of(options)
    if as_json:
        print_json(all_silences)
        return
    for each in all_silences:
        end = strftime("%Y-%m-%d %H:%M", localtime(each["until"]))
        word = "until" if each["until"] > time() else "ended"
        typer.echo(f"{each['number']:>5} {each['scope']}: {word} {end}, {each['by']}: {each['why']}")
    typer.echo(counted(len(all_silences), "silence"))


@app.command(short_help="End a silence.")
@command(AnomaliesUnsilence)
def unsilence(options: AnomaliesUnsilence, *, as_json: bool, quiet: bool) -> None:
    """End a silence now. Receivers get the anomalies that are still open."""
    from railweave.api.anomalies import unsilence as end

    with waiting(WATCH, quiet=quiet or as_json):
        ended = end.of(options)
    if as_json:
        print_json(ended)
    else:
        typer.echo(f"silence {ended['number']} has ended: {ended['scope']}")
