"""Decoder of secrets that Junos obfuscates as ``$9$``. Anyone can decode such secrets, because the alphabet is public.

A ``$9$`` text is not encrypted (Juniper documentation, Hardening Shared Secrets in Junos OS). The characters of the text are in four
families. The gaps between successive characters, multiplied by fixed weights, add up to a character of the secret. Each
text starts with random characters, so two texts of the same secret differ and must be decoded before comparison.
"""

from __future__ import annotations

MAGIC = "$9$"
_FAMILIES = ("QzF3n6/9CAtpu0O", "B1IREhcSyrleKvMW8LXx", "7N-dVbwsY2g4oaJZGUDj", "iHkq.mPf5T")
_ALPHABET = "".join(_FAMILIES)
_PLACE = {letter: place for place, letter in enumerate(_ALPHABET)}
_EXTRA = {member: len(_FAMILIES) - 1 - family for family, members in enumerate(_FAMILIES) for member in members}
"""The number of random characters that follow the first character of a ``$9$`` text, by that first character."""
_WEIGHTS = ((1, 4, 32), (1, 16, 32), (1, 8, 32), (1, 64), (1, 32), (1, 4, 16, 128), (1, 32, 64))
"""The weights of the gaps that together encode a character, by the character's position in the secret."""


def decoded(text: str) -> str | None:
    """Return the secret in a ``$9$`` text, or None if the text is damaged or does not begin with ``$9$``."""
    if not text.startswith(MAGIC):
        return None
    body = text.removeprefix(MAGIC)
    if not body or any(letter not in _PLACE for letter in body):
        return None
    before, rest = body[0], body[1 + _EXTRA[body[0]] :]
    plain = ""
    while rest:
        weights = _WEIGHTS[len(plain) % len(_WEIGHTS)]
        group, rest = rest[: len(weights)], rest[len(weights) :]
        if len(group) < len(weights):
            return None
        total = 0
        for letter, weight in zip(group, weights, strict=True):
            total += ((_PLACE[letter] - _PLACE[before]) % len(_ALPHABET) - 1) * weight
            before = letter
        plain += chr(total % 256)
    return plain or None
