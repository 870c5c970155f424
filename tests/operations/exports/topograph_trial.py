"""``make trial NAME=topograph``: Topograph over the model of every example. Its figures go into the page of exports.

Needs root and NVIDIA's program topograph (RAILWEAVE_TOPOGRAPH or PATH). Ends with ``topograph-trial: ok``.
"""

from __future__ import annotations

import sys

from railweave.errors import InputError
from railweave.operations.exports import topograph
from tests.conftest import EXAMPLES, example
from tests.operations.exports.page import put
from tests.operations.exports.topograph_compare import differences, tree
from tests.operations.exports.topograph_run import answers, missing


def main() -> int:
    """Run it over every example that has GPUs. Gives the exit status."""
    if why := missing():
        print(f"topograph-trial: cannot run here: {why}")
        return 1
    names: list[str] = []
    for name in sorted(path.stem for path in EXAMPLES.glob("*.yaml")):
        try:
            topograph.files(example(name))
        except InputError as error:
            print(f"{name}: left out: {error}")
        else:
            names.append(name)
    wrong = 0
    sums = [0, 0, 0]
    for name, texts in answers(names).items():
        problems = differences(name, texts)
        wrong += bool(problems)
        for problem in problems[:5]:
            print(f"{name}: {problem}")
        switches = tree(texts["request-slurm-tree.json"])
        servers = sum(len(nodes) for _, nodes in switches.values())
        blocks = texts.get("request-slurm-block.json", "").count("BlockName=")
        sums = [total + count for total, count in zip(sums, (len(switches), servers, blocks), strict=True)]
        print(
            f"{name}: {len(switches)} switches, {servers:,} servers, {blocks} blocks: {'differ' if problems else 'equal'}"
        )
    rows = [
        "| examples | switches | servers | blocks | Topograph and the Slurm and Kueue targets |",
        "|---|---|---|---|---|",
        f"| {len(names)} | {sums[0]} | {sums[1]:,} | {sums[2]} | equal |",
    ]
    if wrong:
        print(f"topograph-trial: failed: {wrong} examples differ")
        return 1
    put("topograph-trial", rows)
    print("topograph-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
