"""``railweave watch``: sample a running network, and report deviations from the design."""

from __future__ import annotations

import json
from dataclasses import replace
from time import localtime, strftime
from typing import TYPE_CHECKING

import typer

from railweave.api.site_verbs import Watch
from railweave.cli.command import command
from railweave.cli.output import done, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.watch.anomalies import Anomaly, Change
    from railweave.operations.watch.watching import NetworkStanding, WatchedNetwork


@command(Watch, "Print a line of JSON whenever an anomaly or the network's overall state changes.")
def watch(options: Watch, *, as_json: bool, quiet: bool) -> None:
    """Read the state of every switch again and again until Ctrl-C, and report deviations from the design, called anomalies.

    Switches with gNMI send their state as a stream; other switches are queried. No device is changed.
    """
    from railweave.api.watching import watch as run

    def ready(watching: WatchedNetwork) -> None:
        done(quiet=quiet or as_json)
        watching.heard.append(_json if as_json else _lines(quiet=quiet))
        if as_json or not quiet:
            watching.heard.append(_whole(watching, as_json=as_json))
        if not (quiet or as_json):
            count = counted(len(watching.collector.devices), "device")
            at = "" if options.listen == "none" else f", http://{options.listen}"
            typer.echo(f"watching {count} every {options.interval:g} s{at}")

    with telling(quiet=quiet or as_json) as say:
        run.of(replace(options, ready=ready, progress=say))


def _json(changes: Sequence[tuple[Change, Anomaly]]) -> None:
    for change, anomaly in changes:
        typer.echo(json.dumps({"change": change, **anomaly.to_json()}))


def _whole(watching: WatchedNetwork, *, as_json: bool) -> Callable[[object], None]:
    """Return a function that prints the state of the whole network whenever it changes."""
    last: NetworkStanding | None = None

    def whole(_: object) -> None:
        nonlocal last
        now = watching.standing()
        if last is None or (now.state, now.not_known) != (last.state, last.not_known):
            at = strftime("%H:%M:%S")
            typer.echo(json.dumps({"change": "network", **now.to_json()}) if as_json else f"{at} {now}")
        last = now

    return whole


def _lines(*, quiet: bool) -> Callable[[Sequence[tuple[Change, Anomaly]]], None]:
    shown: dict[int, str] = {}

    def lines(changes: Sequence[tuple[Change, Anomaly]]) -> None:
        for change, anomaly in changes:
            if anomaly.follows or anomaly.finding.severity == "info" or (quiet and anomaly.finding.severity != "error"):
                continue
            mark = _mark(anomaly)
            if change == "changed" and shown.get(anomaly.number) == mark:
                continue
            shown[anomaly.number] = mark
            at = strftime("%H:%M:%S", localtime(anomaly.closed or anomaly.last))
            word = "over" if change == "closed" else anomaly.finding.severity
            during = (
                " (deploy at work)"
                if anomaly.deploy
                else f" (silenced: {anomaly.silenced})"
                if anomaly.silenced
                else ""
            )
            text = anomaly.finding.what
            if change == "closed":
                text, during = text.partition(". This explains ")[0], ""
            typer.echo(f"{at} {word}: {anomaly.finding.id} {anomaly.finding.where}: {text}{during}")

    return lines


def _mark(anomaly: Anomaly) -> str:
    """Return what a line must say again if it changes. A cause that was folded into another and returns is said once."""
    return f"{anomaly.finding.severity} {anomaly.deploy} {anomaly.silenced} {anomaly.acknowledged} {anomaly.times} {anomaly.count.bit_length()}"
