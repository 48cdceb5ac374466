"""How a table is fitted into a terminal."""

import pytest

from roofscope.app.cli.fitted_table import Column, Group, elided, fitted, left_out_text, wrapped

COLUMNS = (Column("time", 0), Column("speed-up", 1), Column("rate", 2), Column("note", 3))
ROWS = (
    ("Triton tiles of many rows, persistent", "1.234 ms", "1.88× ± 0.65 %", "419 TFLOP/s", ""),
    ("Triton tiles of many rows, pipelined", "98.76 µs", "not distinguishable", "1.02 TFLOP/s", ""),
)
GROUP = Group("attention_backward_causal", "bf16 4 × 16 × 8Ki × 128", ROWS)


def plain(width: int) -> list[str]:
    return [line.plain for line in fitted("implementation", COLUMNS, [GROUP], width).lines]


def test_nothing_gives_way_where_there_is_room() -> None:
    table = fitted("implementation", COLUMNS, [GROUP], 1000)
    assert not table.left_out
    assert left_out_text(table) == ""
    assert table.full_width == max(len(line.plain) for line in table.lines)
    assert [line.plain for line in fitted("implementation", COLUMNS, [GROUP], table.full_width).lines] == [
        line.plain for line in table.lines
    ]


def test_names_give_way_before_columns_do() -> None:
    full = fitted("implementation", COLUMNS, [GROUP], 1000).full_width
    table = fitted("implementation", COLUMNS, [GROUP], full - 10)
    assert not table.left_out
    assert "…" in table.lines[2].plain
    assert table.lines[2].plain.endswith("419 TFLOP/s")


def test_columns_go_by_rank_and_are_named() -> None:
    shown = {width: fitted("implementation", COLUMNS, [GROUP], width).left_out for width in (62, 50, 24)}
    assert shown == {62: (), 50: ("rate",), 24: ("speed-up", "rate")}
    assert left_out_text(fitted("implementation", COLUMNS, [GROUP], 50)) == (
        "Left out for want of room: rate. A terminal of 84 columns shows all, and so does a pipe or a file."
    )


def test_an_empty_column_is_no_loss() -> None:
    assert "note" not in plain(1000)[0]
    assert "note" not in fitted("implementation", COLUMNS, [GROUP], 24).left_out


@pytest.mark.parametrize("width", range(24, 90))
def test_no_line_is_wider_than_the_terminal_and_names_stay_distinct(width: int) -> None:
    lines = plain(width)
    assert max(map(len, lines)) <= width
    first, second = (line.split("  ")[1] for line in lines[-2:])
    assert first != second


def test_a_heading_keeps_its_figures() -> None:
    assert plain(1000)[1] == "attention_backward_causal bf16 4 × 16 × 8Ki × 128"
    assert plain(40)[1] == "attentio…_causal bf16 4 × 16 × 8Ki × 128"
    assert plain(26)[1:3] == ["attention_backward_causal", "  bf16 4 × 16 × 8Ki × 128"]


def test_a_terminal_too_narrow_for_a_figure_gets_it_whole() -> None:
    assert any(line.endswith("1.234 ms") for line in plain(5))


@pytest.mark.parametrize(("width", "text"), [(9, "abcdefghi"), (8, "abcd…ghi"), (2, "a…"), (1, "…")])
def test_the_middle_of_a_name_is_elided(width: int, text: str) -> None:
    assert elided("abcdefghi", width) == text


def test_prose_is_wrapped_at_words() -> None:
    assert wrapped("Triton kernels need an NVIDIA GPU.", 20) == "Triton kernels need\n  an NVIDIA GPU."
