"""A secret's place takes one word, or one text in quotation marks, as the line takes it: nothing hides there."""

from __future__ import annotations

import pytest

from railweave.model.config.secret_words import filled, secret_pattern

CURLY = "            encrypted-password <secret:ops>;"
SET = "set system login user ops authentication encrypted-password <secret:ops>"
EOS = "username ops privilege 15 secret sha512 <secret:ops>"
DELL = "username ops password <secret:ops> role admin"
FRR = " neighbor 10.0.0.1 password <secret:bgp>"
TABLE = '            "password": "<secret:ops>"'


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (CURLY, "$6$salt$hash./"),
        (CURLY, '"$6$salt$hash"'),
        (CURLY, r'"a \"quoted\" word; { } and \\"'),
        (CURLY, "it's"),
        (CURLY, "<secret:ops>"),
        (SET, '"two words"'),
        (EOS, "$6$salt;{hash}"),
        (DELL, '"a;b #c"'),
        (FRR, "x/*y"),
        (TABLE, r"a \"b\" c; {}"),
    ],
)
def test_a_value_may_stand_in_its_place(line: str, value: str) -> None:
    assert filled(line, line.replace("<secret:ops>", value).replace("<secret:bgp>", value))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (CURLY, '"hash"; } user evil { class super-user; authentication { encrypted-password x'),
        (CURLY, 'x;}}user"evil"{class"super-user"'),  # no blank at all
        (CURLY, '"x";}user"evil"{class"super-user"'),
        (CURLY, r'"x\\";}user"evil"{class"y"'),
        (CURLY, '"a" "b"'),
        (CURLY, "/*"),  # hides what follows, up to where another secret ends it
        (CURLY, "x#"),
        (CURLY, ""),
        (CURLY, "<secret:root>"),  # that of another account
        (SET, "x\nset system login user evil class super-user"),
        (SET, "x;set"),
        (EOS, "x\nusername evil privilege 15 nopassword"),
        (EOS, "x y"),
        (EOS, '"x" y "z"'),
        (DELL, "x role admin\nusername evil password y"),
        (DELL, "x role operator"),
        (FRR, "x\n neighbor 10.0.0.2 remote-as 1"),
        (TABLE, '", "other": "x'),
        (TABLE, "x\\"),
    ],
)
def test_nothing_else_does(line: str, value: str) -> None:
    found = line.replace("<secret:ops>", value).replace("<secret:bgp>", value)
    assert not filled(line, found)


def test_each_place_is_a_group() -> None:
    match = secret_pattern("key <secret:a> text <secret:b>").fullmatch('key one text "two words"')
    assert match is not None
    assert match.groups() == ("one", '"two words"')
