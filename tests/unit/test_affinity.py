"""CPUs shared out among the workers of several GPUs, on machines that are made up."""

from pathlib import Path

from roofscope.profiling.devices.affinity import share, siblings_of


def pairs(cpu: int) -> frozenset[int]:
    """Two threads a core, eight cores: 0 and 8, 1 and 9, ..."""
    return frozenset({cpu % 8, cpu % 8 + 8})


ALL = frozenset(range(16))
LEFT = frozenset({0, 1, 2, 3, 8, 9, 10, 11})


def test_each_gets_the_cores_of_its_node() -> None:
    assert share([LEFT, ALL - LEFT], ALL, pairs) == [LEFT, ALL - LEFT]


def test_two_on_one_node_share_it_by_whole_cores() -> None:
    one, other = share([LEFT, LEFT], ALL, pairs)
    assert one | other == LEFT
    assert not one & other
    assert len(one) == len(other)
    assert all(pairs(cpu) <= one for cpu in one)


def test_where_the_node_is_not_known_all_are_shared() -> None:
    one, other = share([frozenset(), frozenset()], ALL, pairs)
    assert (one | other, len(one)) == (ALL, 8)


def test_only_what_this_process_may_use() -> None:
    allowed = frozenset({0, 1, 2, 3})
    assert share([ALL - LEFT, LEFT], allowed, pairs) == [frozenset({0, 2}), frozenset({1, 3})]


def test_with_too_few_cores_nobody_is_kept_to_any() -> None:
    assert share([LEFT, LEFT], frozenset({0, 1, 8, 9}), pairs) == [frozenset(), frozenset()]


def test_siblings_are_read_from_the_system(tmp_path: Path) -> None:
    folder = tmp_path / "cpu1" / "topology"
    folder.mkdir(parents=True)
    (folder / "thread_siblings_list").write_text("0-2,9\n")
    assert siblings_of(1, tmp_path) == {0, 1, 2, 9}
    assert siblings_of(5, tmp_path) == {5}
