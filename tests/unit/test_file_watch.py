"""Which files count as saved, by what looks at them find and a clock that the test plays."""

from pathlib import Path

from roofscope.profiling.planning.file_watch import FileWatch, Saved, Stamp, stamps_of
from roofscope.tests.worker.toys import REFERENCE, add_toy

A, B = Path("/k/toy/eager.py"), Path("/k/toy/triton_a.py")
OLD = {A: Stamp(1, 10, 1), B: Stamp(1, 10, 2)}


def test_a_file_counts_as_saved_once_it_is_at_rest() -> None:
    watch = FileWatch(OLD)
    half = {**OLD, A: Stamp(2, 5, 1)}
    whole = {**OLD, A: Stamp(3, 12, 1)}
    assert watch.look(OLD, 0.0) == Saved()
    assert watch.look(half, 1.0) == Saved()
    assert watch.is_waiting
    assert watch.look(whole, 1.09) == Saved()  # it has just grown
    assert watch.look(whole, 1.15) == Saved()
    assert watch.look(whole, 1.2) == Saved(frozenset({A}))
    assert not watch.is_waiting
    assert watch.look(whole, 9.0) == Saved()  # reported once


def test_an_emptied_file_is_one_that_is_being_written() -> None:
    watch = FileWatch(OLD)
    empty = {**OLD, A: Stamp(2, 0, 1)}
    assert watch.look(empty, 1.0) == Saved()
    assert watch.look(empty, 1.4) == Saved()
    written = {**OLD, A: Stamp(3, 9, 1)}
    assert watch.look(written, 1.45) == Saved()
    assert watch.look(written, 1.6) == Saved(frozenset({A}))


def test_an_atomic_replace_of_the_same_size_in_the_same_instant_is_a_save() -> None:
    watch = FileWatch(OLD)
    replaced = {**OLD, A: Stamp(1, 10, 77)}
    watch.look(replaced, 1.0)
    assert watch.look(replaced, 1.2) == Saved(frozenset({A}))


def test_a_file_that_is_away_for_a_moment_is_not_gone() -> None:
    watch = FileWatch(OLD)
    without = {B: OLD[B]}
    assert watch.look(without, 1.0) == Saved()
    assert watch.look(without, 1.3) == Saved()
    back = {**OLD, A: Stamp(4, 11, 5)}
    watch.look(back, 1.4)
    assert watch.look(back, 1.6) == Saved(frozenset({A}))
    watch.look(without, 2.0)
    assert watch.look(without, 2.6) == Saved(gone=frozenset({A}))


def test_what_is_undone_before_it_is_at_rest_is_nothing() -> None:
    watch = FileWatch(OLD)
    watch.look({**OLD, A: Stamp(2, 5, 1)}, 1.0)
    assert watch.look(OLD, 1.05) == Saved()
    assert not watch.is_waiting


def test_files_saved_together_are_told_together_but_not_for_ever() -> None:
    watch = FileWatch(OLD)
    for step in range(45):  # B is written without end
        found = watch.look({A: Stamp(2, 5, 1), B: Stamp(step, step + 1, 2)}, 1.0 + step * 0.05)
        if found.paths:
            break
    assert found == Saved(frozenset({A}))
    assert watch.is_waiting


def test_two_saves_are_joined_by_what_is_there_in_the_end() -> None:
    first, second = Saved(frozenset({A}), frozenset({B})), Saved(frozenset({B}), frozenset({A}))
    assert first.joined(second) == second


def test_code_of_every_kernel_is_looked_at_and_nothing_else(tmp_path: Path) -> None:
    folder = add_toy(tmp_path / "mine", "toy", REFERENCE)
    for name in ("notes.txt", ".eager.py.swp", "eager.py~", "#eager.py#", ".#eager.py"):
        (folder / name).write_text("")
    (tmp_path / "mine" / "no_kernel").mkdir()
    (tmp_path / "mine" / "no_kernel" / "a.py").write_text("")
    found = stamps_of([tmp_path / "mine", tmp_path / "none"])
    assert {path.name for path in found if path.is_relative_to(tmp_path)} == {
        "spec.py",
        "reference.py",
        "eager.py",
    }
    assert any(path.name == "common.cuh" for path in found)  # what our kernels share
