"""``make screenshot``: the pictures of how-tos, from the files that their own commands write."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.chromium import Chromium, browser
from tests.docs.test_256_gpus import blocks, edit, run
from tests.docs.test_training_step import follow


def main(target: Path) -> None:
    """Follow the page up to its first prediction, and keep what a window of 1280 pixels shows of report and prediction."""
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, browser() as chromium:
        folder = Path(name)
        for language, text in blocks():
            if language == "yaml":
                edit(folder / "rail-256.yaml", text)
            else:
                run(text, folder)
            if (folder / "prediction.html").exists():
                break
        report = chromium.open(folder / "out" / "report.html", width=1280, height=560)
        # The cables of 256 GPUs hardly compress: the first screen is kept down to the leaves, without their servers.
        report.screenshot(target / "256-report.png")
        report.send("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)
        report.click("#path-form button")
        report.evaluate("document.activeElement.blur(), document.documentElement.style.scrollBehavior = 'auto'")
        report.evaluate("document.getElementById('paths').scrollIntoView()")
        report.screenshot(target / "256-paths.png")
        prediction = chromium.open(folder / "prediction.html", width=1280, height=1000)
        prediction.screenshot(target / "256-prediction.png")
        errors = report.errors + prediction.errors + training(chromium, target)
        if errors:
            sys.exit("\n".join(errors))


def training(chromium: Chromium, target: Path) -> list[str]:
    """The pictures of docs/predict.md#training-steps; what went wrong in its pages."""
    errors: list[str] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        follow(folder, until="choices.html")
        for page, picture, height in (("dense", "training-step", 1150), ("choices", "training-choices", 1000)):
            shown = chromium.open(folder / f"{page}.html", width=1280, height=height)
            shown.screenshot(target / f"{picture}.png")
            errors += shown.errors
    return errors


if __name__ == "__main__":
    main(Path(sys.argv[1]))
