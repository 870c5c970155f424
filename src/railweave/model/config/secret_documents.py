"""Secrets in JSON and XML documents, which may break off. ``secret_paths`` says which names have secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.config.secret_paths import announces, is_secret, is_secret_name
from railweave.model.config.secret_statements import FoundSecret, near, secrets_of_lines
from railweave.model.config.secret_words import KEY_BEGIN, secret_words
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+')
"""A pattern of the tokens of JSON. A string that breaks off reaches to the end of the text."""


XML_TOKEN = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<[?!/]?(?:[\w.-]+:)?[\w.-]*(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>?|[^<]+"
)


_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


_KEY_FILE = re.compile(r"/(?:[\w.-]+/)+[\w.-]+\.(?:key|pem|cer|crt)")
"""A pattern of paths to key files. A path is not a secret."""


COMMUNITIES = "SNMP_COMMUNITY"
"""The SONiC table whose keys are secrets."""


def is_document(text: str) -> bool:
    """Return True if a text begins as JSON or XML does. Junos prints ``{master:0}`` above its answers."""
    return bool(re.match(r'[{\[]\s*(?:["{\[\]}]|$)|<(?!hidden|secret)[?!/\w]', text))


def in_xml(text: str) -> Iterator[FoundSecret]:
    """Yield the secrets in an XML document: texts and attributes, by the names of their elements. The document may break off."""
    above: list[str] = []
    for token in XML_TOKEN.finditer(text):
        word, start = token[0], token.start()
        if word.startswith("<!--"):
            yield from secrets_of_lines(word[4:].removesuffix("-->"), start + 4, (), "\n")
        elif word.startswith("<![CDATA["):
            inside = word[9:].removesuffix("]]>")
            yield from _text_of_xml(inside, start + 9, above)
        elif word.startswith("</"):
            del above[-1:]
        elif word[0] == "<":
            name = re.match(r"<(?:[\w-]+:)?([\w.-]*)", word)
            tag = name[1] if name else ""
            for match in _ATTRIBUTE.finditer(word):
                group = 2 if match[2] is not None else 3
                names = [*near(above), tag, match[1]]
                if is_secret(names, match[group]) and match[group]:
                    yield FoundSecret(
                        start + match.start(group), start + match.end(group), names[-3:], match[group], _escaped
                    )
            if tag and not word.endswith("/>") and word[1:2] not in {"?", "!"}:
                above.append(tag)
        else:
            yield from _text_of_xml(word, start, above)


def _text_of_xml(text: str, at: int, above: Sequence[str]) -> Iterator[FoundSecret]:
    """Yield the secrets in the text of an element. ``at`` is the text's offset, and ``above`` the names of the element and its parents."""
    value = text.strip()
    start = at + len(text) - len(text.lstrip())
    if not value:
        return
    names = near(above)
    if (is_secret(names, value) and not _KEY_FILE.fullmatch(value)) or any(secret_words([*names, value], len(names))):
        yield FoundSecret(start, start + len(value), names[-3:], value, _escaped)
    else:
        yield from (secret._replace(written=_escaped) for secret in secrets_of_lines(value, start, names[-3:], "\n"))


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def in_json(text: str) -> Iterator[FoundSecret]:
    """Yield the secrets of a JSON document, which may break off: values, table keys that are secrets, and secrets inside strings."""
    above: list[str] = []
    lists: list[bool] = [False]
    key = ""
    tokens = list(JSON_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        word = token[0]
        before = tokens[number - 1][0] if number else ""
        if word in {"{", "["}:
            above.append(key)
            lists.append(word == "[")
        elif word in {"}", "]"}:
            del above[-1:], lists[max(1, len(lists) - 1) :]
            key = ""
        elif word == ",":
            key = ""
        elif word != ":":
            names = [name for name in near(above) if name]
            follows = tokens[number + 1][0] if number + 1 < len(tokens) else ""
            breaks_off = not follows and not lists[-1] and before in {"{", ","}
            if word[0] == '"' and (follows == ":" or breaks_off):
                key = _unescaped(word.strip('"'))
                yield from _key_of_json(token, names, key)
            else:
                yield from _value_of_json(token, [*names, key] if key else names)


def _unescaped(word: str) -> str:
    """Return the text of a JSON string, whose escapes stand for letters."""
    if "\\" not in word:
        return word
    try:
        return str(parse_json(f'"{word}"'))
    except ValueError:
        return word


def _key_of_json(token: re.Match[str], above: Sequence[str], key: str) -> Iterator[FoundSecret]:
    """Yield the secrets in a key of a JSON object. ``above`` are the keys above it."""
    start, end = token.start() + 1, token.start() + len(token[0].rstrip('"'))
    if above and above[-1] == COMMUNITIES:
        yield FoundSecret(start, end, (COMMUNITIES,), key)
    elif key.startswith(f"{COMMUNITIES}|"):
        yield FoundSecret(start + len(COMMUNITIES) + 1, end, (COMMUNITIES,), key.partition("|")[2])
    elif is_secret_name(above, key):
        yield FoundSecret(start, end, above[-4:], key)
    elif " " in key:  # a statement, as EOS has them in JSON
        yield from secrets_of_lines(token[0][1:].removesuffix('"'), start, above[-3:], "\\n", is_json=True)


def _value_of_json(token: re.Match[str], names: Sequence[str]) -> Iterator[FoundSecret]:
    """Yield the secrets in a value of a JSON document. ``names`` are the keys that lead to it."""
    word = token[0]
    if word[0] != '"':
        if word not in {"null", "true", "false"} and names and announces(names[-1]):
            yield FoundSecret(token.start(), token.end(), names[-4:], word, '"{}"'.format)
        return
    start, inside = token.start() + 1, word[1:].removesuffix('"')
    if not inside:
        return
    if is_secret(names, _unescaped(inside)):
        if not _KEY_FILE.fullmatch(inside):
            yield FoundSecret(start, start + len(inside), names[-4:], inside)
    elif KEY_BEGIN.search(inside):
        yield FoundSecret(start, start + len(inside), names[-3:], inside)
    elif inside[0] == "<" and is_document(inside):
        yield from (secret._replace(start=secret.start + start, end=secret.end + start) for secret in in_xml(inside))
    else:
        yield from secrets_of_lines(inside, start, names[-3:], "\\n", is_json=True)


def in_document(text: str) -> Iterator[FoundSecret] | None:
    """Return the secrets of a text that begins as JSON or XML does; None for any other text."""
    bare = text.lstrip()
    if not is_document(bare):
        return None
    return in_xml(text) if bare[0] == "<" else in_json(text)
