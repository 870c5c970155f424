"""Raw flows of ``railweave sim``: a network of a shape or a topology file, without a design (docs/sim.md).

The engine's own command reads and runs them; here are its options, so that there is one parser and one help.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, cast

import typer

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "railweave sim"
PANEL = "Options of raw flows, in place of a fabric file"


def _option(name: str, metavar: str | None, help: str) -> Any:  # noqa: ANN401 - typer's own
    return typer.Option(None, name, metavar=metavar, help=help, rich_help_panel=PANEL)


def _flag(name: str, help: str, *, hidden: bool = False) -> Any:  # noqa: ANN401 - typer's own
    return typer.Option(False, name, help=help, rich_help_panel=PANEL, hidden=hidden)


TOPOLOGY = _option("--topology", "SHAPE|FILE", "A shape such as fat-tree:k=8,speed=400G,delay=1us, or a topology file.")
FLOWS = _option("--flows", "FILE", "Flows as CSV: src,dst,bytes,start_us.")
TRAFFIC = _option(
    "--traffic",
    "PATTERN",
    "Instead of --flows: permutation:bytes=4MB, incast:degree=15,bytes=1MB, all-to-all:bytes=64KB.",
)
CC = _option("--cc", "none|dcqcn", "Congestion control; default dcqcn.")
DCQCN = _option("--dcqcn", "connectx|hpcc|dcqcn-p", "Parameter set of DCQCN; default connectx.")
MTU = _option("--mtu", "BYTES", "Payload of a full packet; default 4096.")
WINDOW = _option("--window", "PACKETS|none", "Packets that a queue pair may have outstanding; default none.")
BUFFER = _option("--buffer", "SIZE", "Buffer of every switch, divided into its pools.")
LOSSY = _flag("--lossy", "No PFC: the data class is lossy.")
SEED = _option("--seed", "NUMBER", "Seed of hashes and marking; default 1.")
UNTIL = _option("--until", "TIME", "End at this simulated time, such as 5ms.")
OUTPUT = _option("--output", "FILE", "Write the result to a file instead of printing it.")
VERB = _option("--verb", "write|write-imm|send", "What every flow is: RDMA write, with immediate, or send.")
FAULT = typer.Option(
    [],
    "--fault",
    metavar="FAULT",
    help="Something that breaks, such as link-down:link=leaf0-spine0,at=100us; may be repeated.",
    rich_help_panel=PANEL,
)
REROUTE = _option("--reroute", "TIME", "Forwarding follows broken links and nodes after this time; default never.")
SERIES = _option("--series", "FILE", "Write what every port did in each interval, as CSV.")
QUEUE_SERIES = _option("--queue-series", "FILE", "Write what every queue that is not empty holds, as CSV.")
FLOW_SERIES = _option(
    "--flow-series", "FILE", "Write what every flow delivered in each interval, and its rate, as CSV."
)
SERIES_EVERY = _option("--series-every", "TIME", "Length of an interval; default 10us.")
SERIES_OF = _option("--series-of", "NODE[,NODE]", "Series of the ports of these nodes only.")
HELP_PARAMETERS = _flag("--help-parameters", "Print all parameters of --set as a table.")
VERSION = _flag("--version", "Print the version.", hidden=True)

MORE = """\b
Shapes:
  fat-tree:k=8,speed=400G,delay=1us
  leaf-spine:leaves=4,spines=4,hosts=8,links=2,speed=400G,uplink=400G,delay=1us
  star:hosts=16,speed=400G,delay=1us
  dumbbell:hosts=8,cables=1,speed=400G,between=400G,delay=1us

\b
Faults (at and until may be left out: from the beginning, for good):
  link-down:link=leaf0-spine0,cable=0,at=100us,until=2ms
  node-down:node=spine0,at=100us,until=2ms
  rate:link=leaf0-spine0,cable=0,speed=100G,at=100us,until=2ms
  loss:from=leaf0,to=spine0,cable=0,chance=0.1%,at=100us,until=2ms
  slow-receiver:host=h0,speed=100G,at=100us,until=2ms
  pfc-storm:host=h0,class=3,at=100us,until=2ms

Sizes: 8M is 8 x 2^20 bytes, 8MB is 8 x 10^6; speeds: 400G is 4 x 10^11 bit/s.
Exit: 0 all flows finished, 1 some did not, 2 bad input, 130 interrupted (partial result).
"""
"""What --topology and --fault take, below the options in the help."""

OWN = (
    *("topology", "flows", "traffic", "cc", "dcqcn", "mtu", "window", "buffer", "lossy", "seed", "until", "output"),
    *("verb", "fault", "reroute", "series", "queue_series", "flow_series", "series_every", "series_of"),
    *("help_parameters", "version"),
)
"""Options, by their names as parameters, that a designed network does not have."""

SHARED = ("lb", "setting", "as_json", "quiet")
"""Those that both have."""


def spelled(name: str) -> str:
    """An option as it is written, by its name as a parameter."""
    special = {"setting": "--set", "as_json": "--json", "on": "--fabric"}
    return special.get(name, f"--{name.replace('_', '-')}")


def run(given: Mapping[str, Any]) -> int:
    """Run the engine's command with the options given, by their names as parameters; the exit code.

    Raises ``InputError`` for options that need a designed network, and with ``--json`` for what the engine refuses.
    """
    wanted = {name: value for name, value in given.items() if value not in (None, False, [], "auto")}
    asks = wanted.keys() & {"topology", "flows", "traffic", "help_parameters", "version"}
    if not asks:
        what, fix = "there is no network", "give a fabric file, or --topology with a shape or a file for raw flows"
        raise InputError([Problem(Option("sim"), what, fix)])
    other = sorted(wanted.keys() - {*OWN, *SHARED})
    if other:
        what = "it is of a designed network, and there is no fabric file"
        raise InputError([Problem(Option(spelled(name)), what, "leave it out") for name in other])
    words: list[str] = []
    for name, value in wanted.items():
        several = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in several:
            words += [spelled(name)] if one is True else [spelled(name), str(one)]
    return _as_json(words) if given.get("as_json") else _command(words)


def _command(words: list[str]) -> int:
    from railweave._sim import command

    # What goes wrong begins as every error does; the version begins with the program's name.
    return command(PROGRAM if "--version" in words else "error", words)


def _as_json(words: list[str]) -> int:
    """Run it with what it says on standard error held back: an error of input is told as JSON, all else afterwards."""
    import tempfile

    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            code = _command([*words, *([] if "--quiet" in words else ["--quiet"])])
        finally:
            os.dup2(before, 2)
            os.close(before)
        held.seek(0)
        said = held.read().decode(errors="replace")
    if code == InputError.exit_code:
        text = said.strip().removeprefix("error: ")
        option, _, rest = text.partition(": ")
        what, _, fix = (rest or text).partition("; ")
        raise InputError([Problem(Option(option if rest else "sim"), what, fix)])
    print(said, end="", file=sys.stderr, flush=True)
    return code


def check_none(given: Mapping[str, Any]) -> None:
    """Raise ``InputError`` where an option of raw flows is given with a fabric file."""
    wrong = [spelled(name) for name in OWN if given.get(name) not in (None, False, [])]
    if wrong:
        what = "it is of raw flows, and a fabric file has a network of its own"
        raise InputError([Problem(Option(name), what, "leave it out, or the fabric file") for name in wrong])
