"""Redaction of a device's answers, by what the system's tables know.

Two passes. ``model.config.gate`` hides what words announce as secret, in every text. What is left is kept where a table
knows it: the statements that the system's reader understands, and the fields of answers that its state table reads.
Everywhere else a word is kept only if it is a number, an address, a port, a word of the system's languages, or a name
that is defined elsewhere. A secret in a statement that no one foresaw is therefore hidden as well.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from railweave.model.config import gate
from railweave.model.config.secret_documents import JSON_TOKEN
from railweave.model.config.secret_paths import announces, is_secret, name_words
from railweave.model.config.secret_words import FREE, HIDDEN, PLAIN
from railweave.model.state.question import CONFIGURATION
from railweave.reading import packaged_text
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from railweave.model.network.model import Network

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NAME = re.compile(r"[^\s{}\[\]()<>,;\"'=|]+")
_WITHIN = re.compile(r"[^:/@%&+#*!?~^.`$\\]+")
_QUANTITY = re.compile(
    r"(?i)[-+]?\d+(?:[.:,-]\d+)*(?:[munkgt]?(?:s|b|w|a|v|m|g|hz|bps|bit|bits|byte|bytes|b/s|bit/s|bits/s)|dbm?|%|c|x|mins?|secs?|hours?|days?|h|d|y|st|nd|rd|th|pps|rpm|k|km|t)?"
    r"|(?:\d+[wdhmsy])+(?:\d+)?(?::\d+)*|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)?|0x[0-9a-f]{1,16}|oid|\d+(?:\.\d+)?e[-+]?\d{1,3}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}"
)
_PORT = re.compile(
    r"(?i)(?:(?:ten|twentyfive|forty|fifty|hundred|fourhundred)?gige?|(?:\w{0,8}gigabit)?ethernet|eth|et|xe|ge|ae|irb|lo|loopback|vlan|vxlan|port-?channel|po"
    r"|bond|management|mgmt|ma|fxp|em|re|vme|swp|br|vtep|enp|ens|eno|gpu|reth|gr|tunnel|null|queue|q|tc|cpu|eth-trunk)[-_ ]?\d+"
    r"(?:[/:._-][a-z]{0,4}\d+)*(?:\.\d+)?"
)
_KEY = re.compile(
    r"\d?[A-Za-z]{1,40}\d{0,5}[A-Za-z]{0,40}(?:[-_.:|/ ]+(?:[A-Za-z]{1,40}\d{0,5}[A-Za-z]{0,40}|\d{1,6}))*"
)
"""A pattern of keys and tags. The gate has hidden those that are secrets: SNMP communities."""
_WEAK = frozenset("public private admin cisco arista juniper dell sonic password secret changeme letmein".split())  # noqa: SIM905 - a list of words
"""Words that are values of secrets as often as words of a language. Outside known statements they are hidden."""
_FREE = FREE | {"banner_message", "alias"}
_BREAKS = re.compile(r"[A-Za-z]\d+[A-Za-z]\w*\d")
"""A pattern of words of the sources that are samples of secrets, not words of a language."""


def redacted(texts: Mapping[str, str], nos: str, names: Set[str] = frozenset()) -> dict[str, str]:
    """Return a device's answers, by file name, without secrets: both passes. The arguments are those of ``kept_by_tables``."""
    return kept_by_tables({file: gate.redacted(text) for file, text in texts.items()}, nos, names)


def kept_by_tables(gated: Mapping[str, str], nos: str, names: Set[str] = frozenset()) -> dict[str, str]:
    """Return a device's answers, by file name, with what no table knows hidden: the second pass. ``gated`` are the answers after the first.

    ``nos`` is the operating system; empty for a server. ``names`` are names that are defined elsewhere, for example in the
    design. Names in statements of the device's own configuration that its reader understands are added to them.
    """
    configuration = {file: text for file, text in gated.items() if re.split(r"[-.]", file)[0] == CONFIGURATION}
    lines, defined = _understood(nos, configuration)
    known = frozenset(names) | defined
    by_lines, by_fields = _Known(_language(), frozenset(), known), _Known(_language(), _fields(), known)
    return {
        file: _kept(text, by_lines if file in configuration else by_fields, lines.get(file, frozenset()))
        for file, text in gated.items()
    }


class _Known:
    """The words that may be kept outside known statements: those of the language, and names."""

    def __init__(self, language: Set[str], fields: Set[str], names: Set[str]) -> None:
        self.language, self.fields, self.names = language, fields, names
        self._seen: dict[str, bool] = {}

    def word(self, word: str) -> bool:
        """Return True if the word may be kept."""
        kept = self._seen.get(word)
        if kept is None:
            kept = self._seen[word] = len(word) <= 128 and self._decide(word)
        return kept

    def _decide(self, word: str) -> bool:
        bare = word.strip(".:!*?-+")
        if not bare or bare in self.names or word in self.names:
            return True
        if PLAIN.fullmatch(bare) or _QUANTITY.fullmatch(bare) or _PORT.fullmatch(bare):
            return True
        parts = _WITHIN.findall(bare)
        if len(parts) > 1:
            return all(self.word(part) for part in parts)
        low = bare.lower()
        if low in _WEAK:
            return False
        camel = bare[:1].islower() and bare.isalpha() and bare != low
        parts = name_words(bare) if camel else [part for part in re.split("[-_]", low) if part]
        return low in self.language or all(part in self.language for part in parts)

    def key(self, key: str) -> bool:
        """Return True if the key of a JSON object, or the tag of an element, may be kept."""
        return (
            key in self.fields or (" " not in key and _KEY.fullmatch(key) is not None) or not any(_of_text(key, self))
        )


@cache
def _sources(package: str) -> tuple[str, ...]:
    """Return the texts of a package's constants, without the docstrings."""
    texts: list[str] = []
    folders = [resources.files(package)]
    while folders:
        for file in folders.pop().iterdir():
            if file.is_dir() and file.name != "__pycache__":
                folders.append(file)
            elif file.name.endswith(".py"):
                tree = ast.parse(packaged_text(file))
                bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
                texts += [
                    node.value
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
                ]
            elif file.name in {"forms.yaml", "system.yaml"}:
                texts.append(packaged_text(file))
    return tuple(texts)


_PACKAGES = ("railweave.systems", "railweave.model.state", "railweave.model.device")
"""The packages whose constants are words of the systems' languages: readers, renderers, forms and state tables."""


@cache
def _language() -> frozenset[str]:
    """Return the words of the systems' languages, in lower case."""
    words: set[str] = set()
    for text in (text for package in _PACKAGES for text in _sources(package)):
        words.update(word.lower() for word in _WORD.findall(text) if not _BREAKS.search(word))
    for word in [*words]:
        words.update(part for part in re.split(r"[-_]", word) if len(part) > 1)
        words.update(name_words(word))
    return frozenset(words)


@cache
def _fields() -> frozenset[str]:
    """Return the names of fields that readers and state tables read, as they are written, and the labels of lines (``HwSKU:``)."""
    texts = [text for package in _PACKAGES for text in _sources(package)]
    labels = {text.lower() for text in texts if re.fullmatch(r"[A-Za-z][A-Za-z ]{1,40}", text)}
    labels |= {label.lower() for text in texts for label in re.findall(r"([A-Za-z][A-Za-z ]{1,40})(?:\\s[*+])?:", text)}
    labels |= {word for text in texts for word in re.split(r"[\s/|.,:()\[\]{}*?!+=]+", text) if len(word) > 2}
    return frozenset(labels - _GENERIC)


_GENERIC = frozenset(
    "user users value key keys text data string login account auth pin seed hash credential credentials".split()  # noqa: SIM905 - a list of words
)
"""Names that say nothing of the value. Values of them are looked at."""


def _understood(nos: str, texts: Mapping[str, str]) -> tuple[dict[str, frozenset[int]], frozenset[str]]:
    """Return (by file, the numbers of the lines whose statements the system's reader understands; the names in them)."""
    reader = system(nos).reader if nos in systems() else None
    if reader is None or not any(text.strip() for text in texts.values()):
        return {}, frozenset()
    try:
        statements = reader.read(texts).statements
    except Exception:  # noqa: BLE001 - whatever a device says: what nothing reads is hidden
        return {}, frozenset()
    lines: dict[str, set[int]] = {file: set() for file in texts}
    doubtful: set[tuple[str, int]] = set()
    names: set[str] = set()
    for statement in statements:
        words = statement.path.split()
        free = next((at for at, word in enumerate(words) if word.lower() in _FREE), None)
        if statement.kind != "understood" or free is not None:
            doubtful.add((statement.file, statement.line))
        else:
            lines.setdefault(statement.file, set()).add(statement.line)
        if statement.kind == "understood":
            names.update(word.strip("\"';{}[],") for word in words[: free + 1 if free is not None else len(words)])
    sure = {
        file: frozenset(line for line in known if (file, line) not in doubtful and line in whole)
        for file, known in lines.items()
        if (whole := _whole_lines(texts.get(file, "")))
    }
    for text in texts.values():
        names.update(word for match in _DEVICE.finditer(text) for word in match.groups())
    return sure, frozenset(name for name in names if not name.startswith("<"))


_DEVICE = re.compile(r"^! device: \S+ \(([^,()\s]{1,40}), (EOS-[\w.]{1,20})", re.MULTILINE)
"""A pattern of the comment by which EOS names its model and release."""


def _whole_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines that hold one statement and nothing beside it.

    There is none in a document of one line, and where a sign ends lines for some readers only. A comment may hold anything.
    """
    rows = text.split("\n")
    if len(text.splitlines()) != len(rows) - (rows[-1] == "") or (
        len(rows) < 3 and text.lstrip()[:1] in {"{", "[", "<"}
    ):
        return frozenset()
    return frozenset(number for number, row in enumerate(rows, 1) if not _COMMENT.search(row))


_COMMENT = re.compile(r"/\*|\*/|\s#|^\s*[#!]")


def _kept(text: str, words: _Known, sure: Set[int]) -> str:
    """Return a text with only what may be kept: the lines in ``sure``, known fields, and words for which ``words`` says so."""
    begun = text.lstrip()[:1]
    unknown = _of_json if begun in {"{", "["} and _is_json(text) else _of_xml if begun == "<" else _of_text
    hidden = list(unknown(text, words))
    parts: list[str] = []
    at, line, counted = 0, 1, 0
    for start, end, by in hidden:
        line += text.count("\n", counted, start)
        counted = start
        if line not in sure and start >= at:
            parts += [text[at:start], by]
            at = end
    return "".join([*parts, text[at:]])


def _is_json(text: str) -> bool:
    return re.match(r"\s*[{\[]\s*(?:[\"{\[\]}\d-]|$)", text) is not None


def _of_text(text: str, words: _Known, at: int = 0) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) of each word that may not be kept. ``at`` is the offset of the text."""
    labels = [
        (match.start(1), match.end(2))
        for match in _LABELLED.finditer(text)
        if match[1].lower() in words.fields and not announces(match[1])
    ]
    kept = {place for start, end in labels for place in range(start, min(end, start + 200))}
    for match in _NAME.finditer(text):
        word = match[0]
        if match.start() not in kept and not words.word(word) and not _within_placeholder(text, match):
            yield at + match.start(), at + match.end(), HIDDEN


_LABELLED = re.compile(r"^[ \t]*([A-Za-z][A-Za-z ]{1,40}):[ \t]+(.{1,200})$", re.MULTILINE)
"""A pattern of lines with a label, such as ``HwSKU: Example-64x800G``."""


def _within_placeholder(text: str, match: re.Match[str]) -> bool:
    """Return True for the word of ``<hidden>`` and ``<secret:NAME>``, which the first pass or the design wrote."""
    return text[match.start() - 1 : match.start()] == "<" and match[0].startswith(("hidden", "secret"))


def _of_json(text: str, words: _Known) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) of keys and values of a JSON document, which may break off."""
    tokens = list(JSON_TOKEN.finditer(text))
    known: list[bool] = [False]
    objects: list[bool] = [False]
    of_key, number = False, 0
    for place, token in enumerate(tokens):
        word = token[0]
        if word in {"{", "["}:
            known.append(of_key if objects[-1] else known[-1])
            objects.append(word == "{")
        elif word in {"}", "]"}:
            del known[max(1, len(known) - 1) :], objects[max(1, len(objects) - 1) :]
        elif word not in {",", ":"} and word[0] == '"':
            start, inside = token.start() + 1, word[1:].removesuffix('"')
            if place + 1 < len(tokens) and tokens[place + 1][0] == ":":
                of_key = inside in words.fields
                named = known[-1] and len(inside) <= 128
                if " " in inside:  # a statement, as EOS has them in JSON
                    for first, past, _ in _of_text(inside, words, start):
                        number += 1
                        yield first, past, f"<hidden-{number}>"
                elif not named and not words.key(inside) and not _placeholder(inside):
                    number += 1
                    yield start, start + len(inside), f"<hidden-{number}>"
            elif (
                not (of_key if objects[-1] else known[-1])
                or "\\n" in inside
                or inside.lstrip()[:1] in {"{", "[", "<"}  # a document in a value
                or (not objects[-1] and _announced(tokens, place))
            ):
                lines = inside.replace("\\n", "  ").replace("\\t", "  ").replace('\\"', "  ")
                yield from _of_text(lines, words, start)
        elif word[0] not in "{}[],:" and word not in {"true", "false", "null"} and not PLAIN.fullmatch(word):
            yield from _of_text(word, words, token.start())


def _announced(tokens: Sequence[re.Match[str]], place: int) -> bool:
    """Return True if the item before the item ``place`` of a list says that a secret follows, as in ``["password", "..."]``."""
    before = tokens[place - 2][0] if place > 1 and tokens[place - 1][0] == "," else ""
    return before[:1] == '"' and is_secret([before.strip('"')], tokens[place][0].strip('"'))


def _placeholder(text: str) -> bool:
    return text.startswith(("<hidden", "<secret"))


_NAMESPACE = re.compile(
    r"xmlns(?::[\w-]+)?=(?:\"(?:https?://|urn:)[\w./:#-]*\"|'(?:https?://|urn:)[\w./:#-]*')|encoding=\"[\w-]{1,20}\""
)
_XML_TOKEN = re.compile(r"<!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<[^<>]*>?|[^<]+")


def _of_xml(text: str, words: _Known) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) of what may not be kept of an XML document, which may break off."""
    known = False
    for token in _XML_TOKEN.finditer(text):
        word, start = token[0], token.start()
        if word.startswith(("<!--", "<![CDATA[")):
            yield from _of_text(
                word[4:].removesuffix("-->") if word[2] == "-" else word[9:-3],
                words,
                start + (4 if word[2] == "-" else 9),
            )
        elif word[0] == "<":
            tag = re.match(r"<[/?!]?(?:[\w-]+:)?([\w.-]*)", word)
            known = tag is not None and tag[1] in words.fields
            past = tag.end() if tag else 1
            if tag and tag[1] and not words.key(tag[1]):
                yield start + tag.start(1), start + tag.end(1), "hidden"
            rest = _NAMESPACE.sub(lambda match: " " * len(match[0]), word[past:])
            rest = re.sub(
                r"[\w:.-]+(?=\s*=)", lambda match: " " * len(match[0]) if words.key(match[0]) else match[0], rest
            )
            yield from ((first, end, "hidden") for first, end, _ in _of_text(rest, words, start + past))
        elif not known:
            yield from (
                (first, past, "&lt;hidden&gt;")
                for first, past, _ in _of_text(
                    re.sub(r"&[#\w]{1,8};", lambda match: " " * len(match[0]), word), words, start
                )
            )


def names_of(network: Network) -> frozenset[str]:
    """Return the names that a design defines: of devices, ports, tenants and groups, and the words of its descriptions."""
    return frozenset(re.findall(r"[^\s\"{}\[\],:]+", network.to_json().decode()))
