"""A table in all of its forms."""

from __future__ import annotations

from railweave.pages.table import Cell, Column, Table, formatted, long_text

TABLE = Table(
    (Column("link", "text", "name"), Column("rate GB/s", "number", "rate_GBps"), Column("end", "text", "end")),
    [
        ("a", formatted(1234.56), Cell("late", "too late", "worse")),
        ("bc", None, long_text("<ended>")),
        ("d", formatted(2.0), "ended"),
    ],
    remarks={0: "first\nsecond"},
)


def test_numbers_are_right_and_remarks_below_their_row() -> None:
    assert TABLE.to_text(" ") == [
        " link  rate GB/s  end",
        " a       1,234.6  too late",
        "     first",
        "     second",
        " bc            –  <ended>",
        " d           2.0  ended",
    ]


def test_colors_do_not_count_as_width() -> None:
    table = Table((Column("a"), Column("b")), [(Cell(1, "one", "worse"), "x"), ("three", "y")])
    assert table.to_text(head=False, styled=lambda plain, css: f"[{css}]{plain}[/]") == [
        "[worse]one[/]    x",
        "three  y",
    ]


def test_rows_that_are_left_out_are_counted() -> None:
    first = TABLE.first(1)
    assert (len(first.rows), first.left_out) == (1, 2)
    assert first.to_text()[-1] == "… and 2 more"
    assert "2 more rows are left out." in first.to_html()
    assert TABLE.first(3) is TABLE


def test_programs_get_values_under_keys() -> None:
    assert TABLE.as_csv() == "name,rate_GBps,end\na,1234.56,late\nbc,,<ended>\nd,2.0,ended\n"
    assert TABLE.to_json()[1] == {"name": "bc", "rate_GBps": None, "end": "<ended>"}


def test_a_page_has_classes_and_no_foreign_markup() -> None:
    html = TABLE.to_html()
    assert '<td class="worse">too late</td>' in html
    assert '<td class="number">1,234.6</td>' in html
    assert '<td class="said">&lt;ended&gt;</td>' in html
