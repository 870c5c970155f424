"""Hooks of mkdocs for ``make site``: links to the checkout, Markdown beside each page, ``llms.txt``, nothing from elsewhere.

A link that leaves ``docs/`` becomes the path in the checkout. The build fails if a page loads a font, a script, a style or a picture
from another machine. ``llms.txt`` lists every page with its first sentence.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")
_LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"(?:https?:)?//[^\"]*\"[^>]*>")
_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
WORKER = Path(__file__).with_name("site_worker.js")
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
_PARAGRAPH = re.compile(r"^(?:[A-Za-z`\[*][^\n|]*\n)+", re.MULTILINE)


class SiteError(Exception):
    """A page of the site loads something from another machine."""


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:  # noqa: ANN401 - types of mkdocs, which is not installed beside us
    """Replace links to files outside docs/ by their path in the checkout."""
    folder = Path(page.file.abs_src_path).parent
    docs = Path(config["docs_dir"])

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        if not target.exists():
            message = f"{page.file.src_uri} links to {link[2]}, which does not exist"
            raise SiteError(message)
        path = target.relative_to(docs.parent).as_posix()
        return f"`{path}`" if path in link[1] else f"{link[1]} (`{path}`)"

    return _LINK.sub(replaced, markdown)


def on_post_page(output: str, **_: Any) -> str:  # noqa: ANN401 - as above
    """Put our own script in the place of the theme's, which it would load from a registry's mirror."""
    return _SHIM.sub(lambda _: f"<script>{WORKER.read_text(encoding='utf-8')}</script>", output)


on_post_template = on_post_page
"""The page of missing pages is a template."""


def on_post_build(config: Any, **_: Any) -> None:  # noqa: ANN401 - as above
    """Copy the Markdown of each page beside it, write ``llms.txt``, and check that nothing is loaded from elsewhere."""
    docs, site = Path(config["docs_dir"]), Path(config["site_dir"])
    for page in docs.rglob("*.md"):
        shutil.copy(page, site / page.relative_to(docs))
    (site / "llms.txt").write_text(llms(docs, config["nav"]), encoding="utf-8")
    foreign = [
        f"{page.relative_to(site)}: {tag[0]}" for page in site.rglob("*.html") for tag in loaded(page.read_text())
    ]
    if foreign:
        raise SiteError("loaded from another machine:\n" + "\n".join(foreign))


def loaded(html: str) -> Iterator[re.Match[str]]:
    """Yield the tags that load something from another machine; a link that a reader follows is none."""
    return (tag for tag in _LOADED.finditer(html) if 'rel="canonical"' not in tag[0])


def llms(docs: Path, nav: list[dict[str, Any]]) -> str:
    """Return the text of ``llms.txt``: sections of the navigation, with a line for each page."""
    lines = ["# railweave", "", "> " + _sentence(docs / "index.md"), ""]
    for section in nav:
        for title, entries in section.items():
            lines += [f"## {title}", ""]
            for entry in entries:
                name = entry if isinstance(entry, str) else next(iter(entry.values()))
                heading = _TITLE.search((docs / name).read_text(encoding="utf-8"))
                lines.append(f"- [{heading[1] if heading else name}]({name}): {_sentence(docs / name)}")
            lines.append("")
    return "\n".join(lines)


def _sentence(page: Path) -> str:
    """Return the first sentence below a page's title."""
    paragraph = _PARAGRAPH.search(page.read_text(encoding="utf-8").partition("\n")[2])
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph[0].split())) if paragraph else ""
    return re.split(r"(?<=[.!?]) ", text.removesuffix(":"), maxsplit=1)[0]
