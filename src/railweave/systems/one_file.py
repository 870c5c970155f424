"""Systems with only one configuration file, all lines of which are described by one statement table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from railweave.model.catalog import catalog
from railweave.model.config.section_tree import LineRules, section_tree
from railweave.model.config.section_tree import sections as sections_of
from railweave.model.config.sections import Section, SectionReader, flat, merge, parse
from railweave.model.device.reading import Reading, classify_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import Known
    from railweave.model.config.statements import Statements
    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding

T = TypeVar("T")
_RULES = LineRules(replaced=(), cut=(), emptied=(), defined=())


@dataclass(frozen=True, slots=True)
class OneFile(Generic[T]):
    """The functions of the modules ``render`` and ``read`` for a system with one configuration file.

    - ``nos``, ``file``: the names of the system and of the file.
    - ``table``: the statement table, which describes all lines of the file.
    - ``value_of``: converts a configuration to the object that the statement table prints.
    - ``config_of``: converts this object back to a configuration.
    - ``missing``: returns findings about parts of a configuration that the commands cannot express.
    """

    nos: str
    file: str
    table: Statements[T]
    value_of: Callable[[DeviceConfig], T]
    config_of: Callable[[T], DeviceConfig]
    missing: Callable[[DeviceConfig], list[Finding]]

    def tree(self, config: DeviceConfig) -> list[Section]:
        """Return the lines of a device's configuration, with the operator's own lines merged in.

        Raises ``RenderError`` if the operator's lines cannot be read.
        """
        sections = self.table.printed(self.value_of(config))
        merge(sections, parse(config.extra))
        return sections

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """Return the text of the configuration file, with its name as the only key."""
        return {self.file: "".join(f"{line}\n" for line in _indented(self.tree(config)))}

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """Return findings about parts of the configuration that the file cannot express."""
        return self.missing(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Return every line, with its parent headers before it. ``railweave diff`` compares these lines."""
        return flat(self.tree(config))

    def check_extra(self, text: str) -> None:
        """Raise ``RenderError`` if the operator's own lines cannot be read."""
        parse(text)

    def read(self, texts: Mapping[str, str]) -> Reading:
        """Return the configuration of one device, read from all its texts together.

        Lines that are not in the statement table are marked as not understood. Raises ``RenderError`` if a text cannot be read.
        """
        files = {file: parse(text) for file, text in texts.items()}
        reader = SectionReader([section for sections in files.values() for section in sections])
        config = self.config_of(self.table.read(reader.sections, reader))
        known: dict[int, tuple[str, Known]] = {id(line): (path, known) for line, path, known in reader.lines()}
        irrelevant = catalog().systems[self.nos].reads.irrelevant
        statements = (
            statement
            for file, sections in files.items()
            for statement in classify_statements(
                file,
                ((line.at, known[id(line)][0].split()[0], *known[id(line)]) for line in _every(sections)),
                irrelevant,
            )
        )
        return Reading(config, tuple(statements))

    def parsed(self, file: str, text: str) -> ConfigTree:
        """Return ``text`` as a tree for comparison. ``file`` is ignored. Raises ``RenderError`` if the text cannot be read."""
        del file
        return section_tree(parse(text), _RULES)

    def printed(self, file: str, nodes: Sequence[Node]) -> str:
        """Return the nodes of a tree as text. ``file`` is ignored."""
        del file
        return "".join(f"{line}\n" for line in _indented(sections_of(nodes)))


def _every(sections: Iterable[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _every(section.body or ())


def _indented(sections: Iterable[Section], depth: int = 0) -> Iterator[str]:
    for section in sections:
        yield f"{'  ' * depth}{section.line}"
        yield from _indented(section.body or (), depth + 1)
