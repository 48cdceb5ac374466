"""Copied tables, as other programs read them."""

from roofscope.app.presentation.table_text import html_table, markdown_table, tab_separated

TABLE = [["Name", "Time", "Note"], ["a|b", "1 µs", ""], ["<c>", "2\n µs", ""]]


def test_tab_separated_keeps_one_line_a_row():
    assert tab_separated(TABLE) == "Name\tTime\tNote\na|b\t1 µs\t\n<c>\t2 µs\t\n"


def test_html_is_escaped():
    assert "<td>&lt;c&gt;</td>" in html_table(TABLE)
    assert html_table(TABLE).count("<tr>") == 3


def test_markdown_drops_empty_columns_and_escapes_bars():
    assert markdown_table(TABLE, "Foot.").splitlines() == [
        "| Name | Time |",
        "| --- | --- |",
        "| a\\|b | 1 µs |",
        "| &lt;c> | 2 µs |",
        "",
        "Foot.",
    ]
