"""Two texts side by side: each line once, in order, and marks where they differ."""

import random

from roofscope.app.presentation.source.difference import (
    Row,
    RowKind,
    difference,
    paired,
    unified_lines,
)
from roofscope.app.presentation.source.texts import shown_text


def test_a_changed_line_stands_beside_what_it_became() -> None:
    left = ["a", "x = load(1)", "same", "gone"]
    right = ["a", "x = load(22)", "same"]
    found = difference(left, right)
    assert found.rows == (
        Row(RowKind.SAME, 0, 0),
        Row(RowKind.CHANGED, 1, 1, ((9, 10),), ((9, 11),)),
        Row(RowKind.SAME, 2, 2),
        Row(RowKind.REMOVED, 3, None),
    )
    assert (found.removed_count, found.added_count, found.starts) == (2, 1, (1, 3))


def test_lines_with_little_in_common_have_no_marks() -> None:
    [row] = difference(["import torch"], ["y[17] * zz"]).rows
    assert (row.kind, row.left_marks, row.right_marks) == (RowKind.CHANGED, (), ())


def test_blanks_at_the_end_are_no_difference() -> None:
    assert [row.kind for row in difference(["a  ", "b"], ["a", "b\t"]).rows] == [RowKind.SAME] * 2


def test_every_line_of_both_texts_stands_once_and_in_order() -> None:
    chance = random.Random(1)
    for _ in range(50):
        left = [chance.choice("abcdef") for _ in range(chance.randrange(40))]
        right = [chance.choice("abcdef") for _ in range(chance.randrange(40))]
        found = difference(left, right)
        assert [row.left for row in found.rows if row.left is not None] == list(range(len(left)))
        assert [row.right for row in found.rows if row.right is not None] == list(range(len(right)))
        for row in found.rows:
            if row.kind is RowKind.SAME:
                assert row.left is not None
                assert row.right is not None
                assert left[row.left] == right[row.right]
        changed = list(unified_lines(left, right, found, context=10**6))
        assert [line for mark, line in changed if mark in " -"] == left
        assert [line for mark, line in changed if mark == "+"] == [
            right[row.right] for row in found.rows if row.right is not None and row.kind is not RowKind.SAME
        ]


def test_far_lines_are_left_out_and_said() -> None:
    left = [str(number) for number in range(30)]
    right = [*left[:15], "new", *left[15:]]
    shown = list(unified_lines(left, right, difference(left, right), context=2))
    assert shown == [
        ("@", "line 14"),
        *((" ", str(number)) for number in (13, 14)),
        ("+", "new"),
        *((" ", str(number)) for number in (15, 16)),
    ]


def test_files_are_compared_by_language() -> None:
    kernel, launcher = shown_text("a.cu", "1"), shown_text("a.py", "2")
    other = shown_text("b.py", "3")
    assert [(left.name, right.name) for left, right in paired([kernel, launcher], [other])] == [
        ("a.py", "b.py"),
        ("a.cu", "nothing"),
    ]
    assert [(left.name, right.name) for left, right in paired([kernel], [other])] == [("a.cu", "b.py")]
    assert paired([], [other])[0][0].name == "nothing"
