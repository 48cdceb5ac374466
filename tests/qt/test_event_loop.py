"""The watchdog of the window's budgets: it must see a block, and end when the loop rests."""

import time

import pytest
from pytestqt.qtbot import QtBot

from roofscope.benchmarks import event_loop
from roofscope.benchmarks.window_budgets import BUDGETS_S, Reading, table


def busy() -> None:
    ends = time.thread_time() + 0.03
    while time.thread_time() < ends:
        pass


def test_the_watch_sees_what_keeps_the_loop(qtbot: QtBot):
    done: list[int] = []
    block = event_loop.longest_block(lambda: (busy(), done.append(1)))
    assert done == [1]
    assert block.wall_s >= 0.03
    assert block.cpu_s >= 0.03


def test_it_waits_until_what_was_begun_is_done(qtbot: QtBot):
    turns: list[int] = []
    event_loop.longest_block(lambda: None, until=lambda: turns.append(1) is None and len(turns) > 3)
    assert len(turns) > 3
    with pytest.raises(TimeoutError):
        event_loop.run_loop(until=lambda: False, at_most_s=0.0)


def test_the_table_has_both_checkouts_side_by_side(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    found = {
        before: [Reading("sort", 0.1, 0.08), Reading("sort", 0.3, 0.2), Reading("only before", 1.0, 1.0)],
        after: [Reading("sort", 0.02, 0.01)],
    }
    head, _, sort, only = table(found)
    assert head.split() == ["milliseconds", "before", "after"]
    assert " ".join(sort.split()) == "sort 50.0 200.0 300.0 140.0 200.0 2 20.0 20.0 10.0 10.0 1"
    assert only.split()[-1] == "-"
    assert BUDGETS_S["100,000 rows: sort"] == 0.1
