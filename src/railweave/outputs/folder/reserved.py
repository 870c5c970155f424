"""Names of servers that the files of a build have already: a folder and a file cannot both be called so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError
from railweave.outputs.rendering.host.cluster import is_cluster_file

if TYPE_CHECKING:
    from railweave.model.intent.reading.source import Source


def check_reserved(source: Source) -> None:
    """Raise ``SpecError`` with file and line of every server that is called as a file beside the servers' folders."""
    problems = [
        Problem(
            FileLine(str(source.path), source.document.line(("servers", index, "names"))),
            f"a server cannot be called {name!r}: a file that all servers share is called so, beside their folders",
            "rename the server",
        )
        for index, group in enumerate(source.spec.servers)
        for name in group.names
        if is_cluster_file(name)
    ]
    if problems:
        raise SpecError(problems)
