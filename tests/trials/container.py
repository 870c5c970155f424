"""Build the container image on a plain Debian root, and run it: ``make trial NAME=container`` after ``make wheel``.

No image is pulled: the base is a root folder of Debian with Python that mmdebstrap makes from this machine's package mirror. Images
and layers are in a temporary folder, which goes in the end. The image must build and verify an example as an ordinary user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import EXAMPLES, ROOT

BASE, IMAGE = "localhost/debian-python:trial", "localhost/railweave:trial"
EXAMPLE = "h100-rlb.yaml"
OF_THIS_MACHINE = ("/etc/pip.conf", "/etc/ssl/certs", *filter(None, [os.environ.get("PIP_FIND_LINKS")]))
"""What pip needs to reach the same package index as outside, mounted while the image is built."""


def lacking() -> str:
    """Return what keeps the trial from running, empty if nothing."""
    missing = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
    if missing:
        return f"{' and '.join(missing)} not installed (Debian: apt install buildah mmdebstrap)"
    if os.geteuid():
        return "making a root folder needs root"
    return "" if list((ROOT / "dist").glob("railweave-*.whl")) else "no wheel in dist/: run `make wheel` first"


def mirror() -> str:
    """Return the address of the Debian mirror that this machine's apt uses."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    addresses = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    return next(one for one in addresses if "debian" in one and "security" not in one and "updates" not in one)


def main() -> int:
    """Run the trial; 1 if the image does not do its work."""
    if reason := lacking():
        print(f"container: skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        storage = ["--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]

        def buildah(*words: str) -> str:
            """Run buildah with images in the temporary folder, and return what it printed."""
            environment = os.environ | {"BUILDAH_ISOLATION": "chroot"}
            command = ["buildah", *storage, *words]
            return subprocess.run(
                command, check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
            ).stdout.strip()

        packages = "--include=python3-venv,ca-certificates"
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", packages, "bookworm", folder / "root.tar", mirror()],
            check=True,
        )
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, str(folder / "root.tar"), "/")
        buildah("commit", "--quiet", container, BASE)
        mounts = [f"--volume={path}:{path}:ro" for path in OF_THIS_MACHINE if Path(path).exists()]
        buildah("build", "--quiet", "--network=host", *mounts, f"--build-arg=BASE={BASE}", "--tag", IMAGE, ".")
        work = folder / "work"
        work.mkdir()
        shutil.copy(EXAMPLES / EXAMPLE, work)
        for path in (work, work / EXAMPLE):
            os.chown(path, 1000, 1000)
        container = buildah("from", IMAGE)
        run = ("run", f"--volume={work}:/work", container, "--")
        user = buildah(*run, "id", "-u")
        entry = "/opt/railweave/bin/railweave"
        buildah(*run, entry, "build", EXAMPLE, "-o", "out", "--quiet")
        verified = buildah(*run, entry, "verify", "out").splitlines()[-1]
        sizes = buildah("images", "--format", "{{.Name}} {{.Size}}")
    print(f"user {user}; {verified}\n{sizes}")
    return int(user != "1000" or " 0 errors" not in verified)


if __name__ == "__main__":
    sys.exit(main())
