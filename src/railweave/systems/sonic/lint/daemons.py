"""Statements whose daemon or container is not started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.daemons import idle_sections, idle_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.sonic.lint.files import Files


@check(
    "sonic-no-daemon",
    "error",
    applies="sonic",
    why="vtysh takes such lines without a word, and nothing carries them out",
    fix="set frr_mgmt_framework_config to true, by which SONiC starts bfdd, ospfd, pimd and pathd; it starts no other daemons",
)
def daemons(files: Files) -> Iterator[str]:
    """Every section of frr.conf has its daemon (sonic-buildimage, dockers/docker-fpm-frr/frr/supervisord). IS-IS has a finding of its own."""
    for line, daemon in idle_sections(files.tables, files.routing):
        if daemon != "isisd":
            yield f"`{line}` of frr.conf: SONiC starts no {daemon} with these tables"


@check(
    "sonic-no-container",
    "error",
    applies="sonic",
    why="rows that no container reads do nothing; SONiC does not say so",
    fix="enable the container in FEATURE, on an image that has it, or take the rows away",
)
def containers(files: Files) -> Iterator[str]:
    """Every table has the container that reads it (sonic-buildimage, files/build_templates/init_cfg.json.j2)."""
    for table, feature in idle_tables(files.tables):
        yield f"{table}: {feature} is not enabled in FEATURE"
