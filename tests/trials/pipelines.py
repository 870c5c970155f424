"""``make trial NAME=pipelines``: the hooks, the workflow and the SARIF files, taken by the programs that read them.

pre-commit runs both hooks on a good and a wrong fabric file, the one that builds railweave included; actionlint reads the workflow; Microsoft's
SARIF Multitool validates the findings of every example by the rules of SARIF and of GitHub. Programs come from PyPI and the Go module proxy. Ends with
``pipelines-trial: ok``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import EXAMPLES, ROOT

SARIF = ROOT / ".validators/sarif/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
WORKFLOW = ROOT / ".github/workflows/verify-fabric.yml"


def say(text: str) -> None:
    """Print a line of the log."""
    print(text, flush=True)


def ran(*words: str | Path, good: bool = True, **named: object) -> str:
    """Run a command, and return its output. With ``good`` False it must fail."""
    done = subprocess.run(
        [str(word) for word in words], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **named
    )  # type: ignore[call-overload]
    assert (done.returncode == 0) == good, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}"
    return str(done.stdout)


def hooks(folder: Path) -> None:
    """Run both hooks by pre-commit."""
    ran(sys.executable, "-m", "venv", folder / "venv")
    ran(folder / "venv/bin/pip", "install", "--quiet", "pre-commit")
    pre_commit = folder / "venv/bin/pre-commit"
    ran(pre_commit, "validate-manifest", ROOT / ".pre-commit-hooks.yaml")
    repository = folder / "repository"
    repository.mkdir()
    shutil.copy(EXAMPLES / "h100-rlb.yaml", repository / "good-fabric.yaml")
    wrong = (EXAMPLES / "h100-rlb.yaml").read_text().replace("spines: 4", "spines: 4000")
    (repository / "wrong-fabric.yaml").write_text(wrong)
    (repository / "values.yaml").write_text("not: a fabric file\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PRE_COMMIT_HOME": str(folder / "cache")}
    for key, value in (("user.name", "trial"), ("user.email", "trial@example.invalid")):
        environment |= {f"GIT_{part}_{key.partition('.')[2].upper()}": value for part in ("AUTHOR", "COMMITTER")}
    ran("git", "init", "--quiet", repository, env=environment)
    ran("git", "-C", repository, "add", "-A", env=environment)
    for hook in ("railweave-verify-installed", "railweave-verify"):
        run = (pre_commit, "try-repo", ROOT, hook, "--verbose", "--files")
        text = ran(*run, "good-fabric.yaml", "values.yaml", cwd=repository, env=environment)
        assert "Passed" in text, text
        text = ran(*run, "values.yaml", cwd=repository, env=environment)
        assert "no files to check" in text, text
        text = ran(*run, "good-fabric.yaml", "wrong-fabric.yaml", cwd=repository, env=environment, good=False)
        assert "wrong-fabric.yaml:" in text, text
        assert "Failed" in text, text
        say(f"pre-commit, {hook}: passes a good file, fails a wrong one with its line, leaves other YAML alone")


def workflow(folder: Path) -> None:
    """Read the workflow as actionlint does."""
    if shutil.which("go") is None:
        say("actionlint: skipped: there is no go")
        return
    environment = os.environ | {"GOBIN": str(folder / "bin"), "GOPATH": str(folder / "go"), "GOFLAGS": "-modcacherw"}
    ran("go", "install", ACTIONLINT, env=environment)
    ran(folder / "bin/actionlint", WORKFLOW)
    say("actionlint: the workflow has no fault")


def findings(folder: Path) -> None:
    """Validate the SARIF file of every example."""
    if not SARIF.exists():
        say(f"SARIF: skipped: no {SARIF.name} (make validators)")
        return
    count = 0
    for path in sorted(EXAMPLES.glob("*.yaml")):
        file = folder / f"{path.stem}.sarif"
        ran(sys.executable, "-m", "railweave", "verify", path, "--design-only", "--quiet", "--sarif", file)
        text = ran(SARIF, "validate", file, "--rule-kind", "Sarif;Ghas")
        assert "error" not in text, text
        count += 1
    say(f"SARIF Multitool: {count} examples, no error by the rules of SARIF and of GitHub")


def main() -> int:
    """Run all parts."""
    with tempfile.TemporaryDirectory() as temporary:
        for part in (findings, workflow, hooks):
            part(Path(temporary))
    say("pipelines-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
