"""The trials: what takes minutes or needs a lab, and is looked at by a person. ``make trial NAME=deploy`` runs one.

``python -m tests.trials [NAME [WORD ...]]``: without a name the table of them, with one the trial, which gets the words. It ends
with the exit code of the trial; 2 for a name that there is not. Trials may depend on time; tests may not.
"""

from __future__ import annotations

import runpy
import sys
from typing import NamedTuple


class Trial(NamedTuple):
    """A trial: the module that runs it, the words it gets where none are given, what it needs and what it does."""

    module: str
    needs: str
    does: str
    words: tuple[str, ...] = ()


LAB = "root, FRR"
TRIALS = {
    "acceptance": Trial("tests.operations.exports.acceptance_trial", "gcm, a checkout of ROCm CVS, some minutes", "thresholds of every example, taken by the acceptance tools: docs/export.md"),
    "ansible": Trial("tests.operations.exports.ansible_trial", "root, network, 600 MB", "Ansible's own programs over the exported inventories and playbooks, on a server and on FRR: docs/export.md"),
    "bench": Trial("tests.operations.bench.trial", f"{LAB}, QEMU, mmdebstrap, Open MPI", "plans of benchmarks by perftest, MPI and Slurm: docs/bench.md"),
    "console": Trial("tests.operations.watch.console_trial", LAB, "15 faults in a lab, each in the console with its cause"),
    "container": Trial("tests.trials.container", "root, buildah, mmdebstrap, a wheel in dist/", "the container image, built on a plain Debian root and run as an ordinary user"),
    "day-two": Trial("tests.live.lab.day_two", f"{LAB}, dnsmasq, udhcpc", "drains, upgrades, replacements, first boots, campaigns: docs/day-two.md"),
    "deploy": Trial("tests.live.lab.deploy_trial", f"{LAB}, half an hour", "twelve changes onto labs and back while packets flow, predicted and measured loss: docs/deploy.md"),
    "every": Trial("tests.trials.every", "half an hour", "every case of the tests of which `make test` draws some each day"),
    "faults": Trial("tests.live.lab.matrix", f"{LAB}, nft, half an hour", "40 faults for each of three seeds, made in labs by an operator's tools: docs/check.md"),
    "kubernetes": Trial("tests.operations.exports.kubernetes_trial", "kube-apiserver, etcd, definitions of all objects, five minutes", "every object of every example, sent to an API server of Kubernetes: docs/export.md"),
    "logs": Trial("tests.operations.bench.made_logs", "a minute", "causes planted in 200 made logs, and what triage finds; `200 SEED`: others; `mutate 100000`: mutated ones: docs/bench.md"),
    "messages": Trial("tests.operations.bench.messages", "checkouts of NCCL and its plugins", "which warnings triage knows, with --source DIR: docs/bench.md"),
    "nautobot": Trial("tests.operations.exports.inventories.trial", "root, mmdebstrap, an hour", "the Nautobot export and import with a real Nautobot, killed and changed on the way: docs/export.md", ("nautobot",)),
    "night": Trial("tests.operations.watch.night_trial", f"{LAB}, half an hour", "twelve faults of a lab, three of them flapping, and a kill of the watch: causes and lines of each: docs/watch.md"),
    "netbox": Trial("tests.operations.exports.inventories.trial", "root, mmdebstrap, half an hour", "the NetBox export and import with a real NetBox, killed and changed on the way: docs/export.md", ("netbox",)),
    "pictures": Trial("tests.operations.watch.console_demo", f"{LAB}, Chromium", "the console while a cable fails: docs/images/console", ("docs/images/console",)),
    "pipelines": Trial("tests.trials.pipelines", "npm, Go, cargo, five minutes", "pre-commit's hooks, the workflow and SARIF files, in the programs that read them: docs/export.md"),
    "ray": Trial("benchmarks.tune_ray", "Ray, which make installs (240 MB)", "a study on workers of Ray: docs/predict.md"),
    "recorded-faults": Trial("tests.live.check.matrix", "some minutes", "600 faults drawn for each system, what check finds: docs/check.md"),
    "recorded-servers": Trial("tests.host.machines.recorded", "a minute", "100 changed answers of twelve recorded servers without a design for each of three seeds, and what host check finds: docs/checks.md", ("1", "2", "3")),
    "reproducible": Trial("tests.trials.reproducible", "network, cargo, ten minutes", "the wheel and the sdist, built twice in different folders and environments, byte for byte; `system`: without zig; `--debian`: Debian packages too"),
    "set-up": Trial("tests.trials.set_up", "half an hour, 3 GB", "how long predictions take until their first packet, how soon signals end them"),
    "slurm": Trial("tests.operations.exports.slurm_trial", "root, mmdebstrap", "every example's Slurm files in two releases of Slurm, and jobs on four nodes: docs/export.md"),
    "topograph": Trial("tests.operations.exports.topograph_trial", "root, NVIDIA's topograph", "Topograph over the model of every example, beside the Slurm and Kueue targets: docs/export.md"),
    "watch": Trial("tests.operations.watch.trial", f"{LAB}, Debian's prometheus and others, Go", "watch beside Prometheus, Alertmanager and a Collector while a port fails: docs/watch.md"),
    "waves": Trial("tests.operations.deploy.drawn_changes", "eight minutes", "40 changes for each of two seeds: the effect that a plan states, beside the routes after each commit: docs/deploy.md"),
}  # fmt: skip


def main(words: list[str]) -> int:
    """Run the trial that the first word names, or print all of them."""
    if words and words[0] in TRIALS:
        name, given = words[0], words[1:]
        sys.argv = [name, *(given or TRIALS[name].words)]
        runpy.run_module(TRIALS[name].module, run_name="__main__", alter_sys=True)
        return 0
    if words:
        print(f"there is no trial {words[0]!r}: name one of these")
    for name, one in TRIALS.items():
        print(f"{name:<15} {one.does} ({one.needs})")
    return 2 if words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
