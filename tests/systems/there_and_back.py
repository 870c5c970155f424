"""What a device's configuration loses on its way to text and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.device.fields import differences
from railweave.systems import system

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.network.model import Network
    from railweave.systems.protocol import Reader

FUZZED = int(os.environ.get("FUZZED", "800"))
"""How many texts a fuzz test tries: a million by hand."""


def reader(nos: str) -> Reader:
    found = system(nos).reader
    assert found is not None
    return found


def lost(config: DeviceConfig) -> list[str]:
    """Fields that come back otherwise, lines that were not understood, trees that are others."""
    nos = system(config.nos)
    files = nos.files(config)
    found = reader(config.nos).read(files)
    unsaid = catalog().systems[config.nos].reads.unsaid
    fields = [f"{config.name}: {one}" for one in differences(found.config, config, unsaid)]
    unknown = [] if config.extra else [f"{config.name}: {one}" for one in found.not_understood]
    trees: list[str] = []
    for file, tree in nos.trees(config).items():
        if compare(reader(config.nos).parsed(file, files[file]), tree):
            trees.append(f"{config.name}: the tree of {file} is another")
        printed = reader(config.nos).printed(file, tree.nodes)
        if reader(config.nos).read({**files, file: printed}).config != found.config:
            trees.append(f"{config.name}: {file} as it is printed is another")
    return [*fields, *unknown, *trees]


def one_of_each_role(network: Network) -> Iterable[str]:
    """The first switch of each role, and the last: it is in another fabric, or has other tenants."""
    found = {one.role: one.name for one in reversed(network.switches)}
    return dict.fromkeys((*found.values(), network.switches[-1].name))


def unknown(found: Reading) -> list[str]:
    """What was not understood, each with its line."""
    return [f"{one.line}: {one.path}" for one in found.not_understood]


def mangled(texts: Sequence[Sequence[str]], rng: random.Random, words: Sequence[str]) -> str:
    """A text of up to 4 KB: lines of others dropped, doubled, moved, with other words or characters in them."""
    whole = rng.choice(texts)
    start = rng.randrange(max(1, len(whole)))
    lines = list(whole[start : start + rng.randrange(1, 120)])
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(lines)) if lines else 0
        match rng.randrange(6) if lines else 5:
            case 0:
                del lines[at]
            case 1:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 2:
                parts = lines[at].split(" ")
                parts[rng.randrange(len(parts))] = rng.choice(words)
                lines[at] = " ".join(parts)
            case 3:
                place = rng.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + chr(rng.choice([*range(1, 256), 0x661, 0x2028])) + lines[at][place:]
            case 4:
                lines[at] = " " * rng.randrange(5) + lines[at].strip()
            case _:
                lines.append(" ".join(rng.choices(words, k=rng.randrange(1, 6))))
    return "\n".join(lines)[:4096]


def survives(read: Reader, texts: Mapping[str, str]) -> None:
    """Read a text that may be anything: it is read, or its form is refused with the line."""
    try:
        read.read(texts)
        for file, text in texts.items():
            read.parsed(file, text)
    except RenderError as error:
        refused = error
    else:
        return
    assert refused.line, refused
