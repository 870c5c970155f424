"""What launchers and log collectors put before a line is found and taken off: the rows are those of the bare output."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from railweave.operations.bench.lines import lines_of
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "fixtures"
OUTPUTS = sorted(path for path in FIXTURES.iterdir() if path.suffix in {".txt", ".log"})

PREFIXES: dict[str, Callable[[int], str]] = {
    "open mpi 4 --tag-output": lambda _: "[1,3]<stdout>:",
    "open mpi 4 --timestamp-output": lambda at: f"Sun Nov  1 08:15:{at % 60:02} 2026<stdout>:",
    "open mpi 4, both": lambda at: f"Sun Nov  1 08:15:{at % 60:02} 2026[1,3]<stdout>:",
    "open mpi 5": lambda _: "[prterun-gpu-7-91@1,3]<stdout>: ",
    "open mpi 5 --output tag-detailed": lambda _: "[prterun-gpu-7-91@1,3][gpu-8:4711]<stdout>: ",
    "mpich -l": lambda _: "[3] ",
    "srun --label": lambda _: "3: ",
    "srun --label, wide": lambda _: "  3: ",
    "srun label without a blank": lambda _: "3:",
    "torchrun --tee": lambda _: "[default3]:",
    "torchrun, exceptions": lambda _: "[rank3]: ",
    "ray": lambda _: "(TrainWorker pid=4711, ip=10.9.8.7) ",
    "ray in colors": lambda _: "\x1b[36m(TrainWorker pid=4711)\x1b[0m ",
    "kubectl --prefix": lambda _: "[pod/bench-launcher-x2k9p/mpi] ",
    "kubectl --timestamps": lambda at: f"2026-11-01T08:15:{at % 60:02}.123456789Z ",
    "cri": lambda at: f"2026-11-01T08:15:{at % 60:02}.123456789+01:00 stdout F ",
    "journald": lambda at: f"Nov 01 08:15:{at % 60:02} gpu-8 bench[4711]: ",
    "journald, iso": lambda at: f"2026-11-01T08:15:{at % 60:02}+0100 gpu-8 bench[4711]: ",
    "pdsh": lambda _: "gpu-8: ",
    "pdsh, one word": lambda _: "zeus: ",
    "cloudwatch": lambda at: f"2026-11-01T08:15:{at % 60:02}.123000+00:00 bench/default/0a1b2c3d4e5f ",
    "github": lambda at: f"2026-11-01T08:15:{at % 60:02}.1234567Z ",
    "github, gh run view": lambda at: f"bench (gpu)\tRun tests\t2026-11-01T08:15:{at % 60:02}.1234567Z ",
    "moreutils ts": lambda at: f"Nov 01 08:15:{at % 60:02} ",
    "moreutils ts -s": lambda at: f"00:00:{at % 60:02} ",
    "python logging": lambda at: f"2026-11-01 08:15:{at % 60:02},123 INFO bench.runner: ",
    "docker compose": lambda _: "worker-0  | ",
    "stern": lambda _: "bench-launcher-x2k9p mpi ",
}
COMBINED = [
    ("kubectl --timestamps", "open mpi 4 --tag-output"),
    ("kubectl --prefix", "kubectl --timestamps"),
    ("cri", "open mpi 5"),
    ("journald", "srun --label"),
    ("github", "pdsh"),
    ("moreutils ts", "mpich -l"),
    ("ray in colors", "moreutils ts"),
    ("docker compose", "torchrun --tee"),
    ("pdsh", "torchrun, exceptions"),
]


def prefixed(text: str, *names: str) -> str:
    """The text with prefixes before each line, as a terminal or a collector keeps it."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join("".join(PREFIXES[name](at) for name in names) + line for at, line in enumerate(lines)) + "\n"


def rows(text: str, name: str) -> tuple[object, ...]:
    """Everything that is kept of a text: numbers, failures, hosts, and what NCCL's log says."""
    runs = runs_of(read(text, name), "", "")
    return tuple(
        (run.tool, run.title, run.samples, run.failures, run.ranks, run.facts, run.settings, run.environment.variables)
        for run in runs
    )


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_each_prefix_leaves_the_rows_of_the_bare_output(output: Path) -> None:
    bare = output.read_text()
    expected = rows(bare, output.name)
    assert expected
    for names in [*((name,) for name in PREFIXES), *COMBINED]:
        assert rows(prefixed(bare, *names), output.name) == expected, names


def test_a_collectors_json_is_unwrapped() -> None:
    bare = (FIXTURES / "nccl-tests-2.9-all_reduce.txt").read_text()
    docker = "\n".join(json.dumps({"log": line + "\n", "stream": "stdout"}) for line in bare.splitlines())
    journal = "\n".join(json.dumps({"MESSAGE": line, "_HOSTNAME": "gpu-8"}) for line in bare.splitlines())
    assert rows(docker, "all_reduce.txt") == rows(journal, "all_reduce.txt") == rows(bare, "all_reduce.txt")


@pytest.mark.parametrize("form", ["    {}", "\t{}", '            "{}",'])
def test_blocks_of_code_and_lists_of_strings_are_unwrapped(form: str) -> None:
    bare = (FIXTURES / "nccl-tests-2.9-all_reduce.txt").read_text()
    inside = "\n".join(form.format(line.replace('"', '\\"')) for line in bare.rstrip("\n").split("\n"))
    assert rows(inside + "\n", "all_reduce.txt") == rows(bare + "\n", "all_reduce.txt")
    warning = form.format("gpu-4:1:2 [0] NCCL INFO Using network Socket")
    assert [line.host for line in lines_of("\n".join([warning] * 3))] == ["", "", ""]
    log = read(warning, "x").log
    assert log is not None
    assert [network.host for network in log.networks] == ["gpu-4"]


def test_lines_that_cri_cut_are_joined() -> None:
    time = "2026-11-01T08:15:00.1Z"
    lines = lines_of(f"{time} stdout P # nThread 1 nG\n{time} stdout F pus 1\n{time} stdout F #\n")
    assert [(line.number, line.text) for line in lines] == [(1, "# nThread 1 nGpus 1"), (3, "#"), (4, "")]


def test_an_unlabelled_line_keeps_its_text() -> None:
    texts = [
        "gpu-8:4711:4720 [3] NCCL INFO Using network IB",
        "  8589934592    2147483648     float     sum      -1   379012   22.66   22.66       0   378990   22.67   22.67       0",
        "Error: could not reach gpu-7: no route",
        " local address: LID 0000 QPN 0x01c8 PSN 0x112233",
        ' "results": [',
        "Failed status 12: wr_id 0 syndrom 0x81",
    ]
    assert [line.text for line in lines_of("\n".join(texts))] == texts


def test_hosts_and_ranks_of_prefixes_are_kept() -> None:
    tagged = lines_of("[1,3]<stderr>:gpu-8:4711:4720 [3] NCCL INFO Using network IB\n[1,3]<stderr>:Test failure\n")
    assert [(line.host, line.rank) for line in tagged[:2]] == [("gpu-8", 3), ("gpu-8", 3)]
    labelled = lines_of("gpu-1: Couldn't allocate MR\ngpu-2: Couldn't allocate MR\ngpu-1: failed to create mr\n")
    assert [(line.host, line.text) for line in labelled[:2]] == [
        ("gpu-1", "Couldn't allocate MR"),
        ("gpu-2", "Couldn't allocate MR"),
    ]
    launcher = lines_of(
        "[pod/launcher-0/mpi] gpu-1:1:1 [0] NCCL INFO Using network IB\n"
        "[pod/launcher-0/mpi] gpu-2:1:1 [0] NCCL INFO Using network IB\n"
        "[pod/launcher-0/mpi] Test failure\n"
    )
    assert launcher[2].host == ""  # the launcher's pod prints for servers that the line does not name
    for name in PREFIXES:
        text = prefixed("gpu-4:1:2 [0] NCCL INFO Using network Socket", name)
        assert [line.host for line in lines_of(text) if line.text] in ([""], ["gpu-4"]), name


def test_interleaved_ranks_are_read_apart() -> None:
    """Each rank of a build without MPI prints its own table, and lines of ranks meet in one log."""
    bare = (FIXTURES / "nccl-tests-2.9-all_reduce.txt").read_text().rstrip("\n").split("\n")
    both = [
        line
        for pair in itertools.zip_longest(*([f"[1,{rank}]<stdout>:{line}" for line in bare] for rank in (0, 1)))
        for line in pair
    ]
    tests = read("\n".join(both), "all_reduce.txt").nccl_tests
    single = read("\n".join(bare), "all_reduce.txt").nccl_tests[0]
    sizes = [row.size_bytes for row in single.rows]
    assert [[row.size_bytes for row in test.rows] for test in tests] == [sizes, sizes]


def test_a_header_without_a_table_is_told() -> None:
    parsed = read(
        "gpu-4:1:2 [0] NCCL INFO Using network IB\n??~# nThread 1 nGpus 1 minBytes 8\n??~# Using devices\n", "x.txt"
    )
    assert parsed.tableless == 2
    assert "no row of a table was read" in str(parsed.notes[-1])
