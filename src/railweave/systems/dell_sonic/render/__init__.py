"""Rendering of Enterprise SONiC Distribution by Dell Technologies: commands for its ``sonic-cli``.

``prepare.cli`` contains the commands that restart the switch or take effect only in a new session. They are entered
first, and only once. ``sonic.cli`` contains the other commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, flat, line, merge
from railweave.systems.common_gaps import release_findings
from railweave.systems.dell_sonic.meaning.balancing import NAME, adaptive, balancing_of
from railweave.systems.dell_sonic.meaning.bgp import policies_of, routing_of
from railweave.systems.dell_sonic.meaning.control_plane import lists_of
from railweave.systems.dell_sonic.meaning.management import system_of
from railweave.systems.dell_sonic.meaning.ports import interfaces_of, shared_of, splits_of
from railweave.systems.dell_sonic.meaning.qos import preparation_of, qos_of
from railweave.systems.dell_sonic.render.gaps import unsaid
from railweave.systems.dell_sonic.statements import TABLES
from railweave.systems.dell_sonic.statements.bgp import ROUTING
from railweave.systems.dell_sonic.statements.control_plane import LISTS
from railweave.systems.dell_sonic.statements.management import SYSTEM
from railweave.systems.dell_sonic.statements.policy import POLICIES
from railweave.systems.dell_sonic.statements.ports import INTERFACES, SHARED, SPLITS
from railweave.systems.dell_sonic.statements.qos import BALANCING, QOS
from railweave.systems.dell_sonic.tree import parse, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device import model
    from railweave.model.findings import Finding


def routing(config: model.DeviceConfig) -> Iterator[Section]:
    """Yield all sections about routing."""
    for policies in policies_of(config, NAME if adaptive(config) else None):
        yield from POLICIES.printed(policies)
    yield from ROUTING.printed(routing_of(config))


def tree(config: model.DeviceConfig) -> list[Section]:
    """Return the sections of ``sonic.cli``, with the operator's own commands merged in.

    Raises ``RenderError`` if the operator's commands cannot be read.
    """
    sections = [
        *SYSTEM.printed(system_of(config)),
        *SPLITS.printed(splits_of(config)),
        *QOS.printed(qos_of(config)),
        *BALANCING.printed(balancing_of(config)),
        *SHARED.printed(shared_of(config)),
        *LISTS.printed(lists_of(config)),
        *INTERFACES.printed(interfaces_of(config)),
        *routing(config),
    ]
    merge(sections, parse(config.extra))
    return sections


def prepare(config: model.DeviceConfig) -> list[Section]:
    """Return the commands of ``prepare.cli``: the naming of ports, and the buffers of lossless classes.

    The naming takes effect in the next session. The command for lossless buffers restarts the switch.
    """
    return [line("interface-naming standard"), *QOS.printed(preparation_of(config))]


def files(config: model.DeviceConfig) -> dict[str, str]:
    """Return the texts of ``prepare.cli`` and ``sonic.cli``, by file name."""
    return {"prepare.cli": to_text(prepare(config)), "sonic.cli": to_text(tree(config))}


def lines(config: model.DeviceConfig) -> list[str]:
    """Return one text for each command of ``prepare.cli`` and ``sonic.cli``: the headers of its sections and the command, joined by `` / ``.

    For example, ``mtu 9216`` in the section ``interface Eth1/1`` becomes ``interface Eth1/1 / mtu 9216``.
    """
    return flat([*prepare(config), *tree(config)])


def gaps(config: model.DeviceConfig) -> list[Finding]:
    """Return findings about the operator's own commands, and about parts of the design that this system cannot express as designed.

    Such a part has no command, has a different command, or needs a newer release.
    """
    return [*unsaid(config), *release_findings(config, TABLES, tree)]


def check_extra(text: str) -> None:
    """Check the operator's own commands. Raises ``RenderError``, with the line number, if they cannot be read."""
    parse(text)
