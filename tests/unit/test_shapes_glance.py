"""What a quick look at drawn shapes comes to, on invented times without a GPU."""

import math
import random
from statistics import median

from msgspec.structs import replace

from roofscope.benchmarks.shapes.glance import Seen, Task, markdown
from roofscope.profiling.planning.spec import Dtype

OURS = ("cuda_registers", "triton_registers")
TASK = Task("softmax", Dtype.BFLOAT16, 1, "any", {"rows": 7, "cols": 9}, (*OURS, "eager"), OURS)


def seen(notes: dict[str, str] | None = None, **times: float | tuple[float, ...]) -> Seen:
    """Blocks as they are given, or four that are alike."""
    blocks = {stem: time if isinstance(time, tuple) else (time,) * 4 for stem, time in times.items()}
    return Seen(TASK, blocks, notes or {}, 0.25)


def test_the_ratio_is_that_of_the_fastest_of_either_side() -> None:
    one = seen(cuda_registers=2.0, triton_registers=4.0, eager=3.0, compile_default=1.0)
    assert one.ratio == 0.5
    assert one.ratio_to(["eager"]) == 1.5
    assert one.times == {"cuda_registers": 2.0, "triton_registers": 4.0, "eager": 3.0, "compile_default": 1.0}


def test_luck_in_half_of_the_rounds_is_not_taken_for_speed() -> None:
    """Two versions that are alike, of which each was lucky in other rounds: neither is faster than 2."""
    one = seen(cuda_registers=(1.0, 2.0, 1.0, 2.0), triton_registers=(2.0, 1.0, 2.0, 1.0), eager=2.0)
    assert one.ratio == 1.0


def test_noise_favours_neither_side_however_many_versions_it_has() -> None:
    noise = random.Random(3)
    ratios = [
        seen(
            **{stem: tuple(noise.gauss(2.0, 0.1) for _ in range(8)) for stem in OURS},
            **{f"peer_{number}": tuple(noise.gauss(2.0, 0.1) for _ in range(8)) for number in range(6)},
        ).ratio
        for _ in range(1000)
    ]
    assert abs(median(ratios) - 1.0) < 0.005


def test_without_a_time_of_ours_the_shape_falls_short_and_without_a_peer_it_does_not() -> None:
    assert seen(eager=1.0).ratio == 0.0
    assert seen(cuda_registers=1.0).ratio == math.inf


def test_the_slowest_shape_comes_first_and_the_kernel_has_a_row() -> None:
    rows = list(markdown([seen(cuda_registers=1.0, eager=2.0), seen(cuda_registers=2.0, eager=1.0)]))
    assert "**0.500**" in rows[2]
    assert rows[-2] == "| softmax | best peer | 2 | 1.250 | **0.500** | 1 | 0.25 |"
    assert rows[-1] == "| softmax | eager | 2 | 1.250 | **0.500** | 1 | |"
    assert len({row.count("|") for row in rows[rows.index("") + 1 :]}) == 1


def test_of_each_peer_the_worst_is_told() -> None:
    one = seen(cuda_registers=1.0, eager=2.0, library_quack=0.8)
    other = seen(cuda_registers=1.0, eager=0.95, library_quack=3.0)
    rows = list(markdown([one, other]))[-3:]
    assert [row.split(" | ")[1:5] for row in rows] == [
        ["best peer", "2", "0.875", "**0.800**"],
        ["eager", "2", "1.475", "0.950"],
        ["library_quack", "2", "1.900", "**0.800**"],
    ]


def test_what_is_wrong_is_said_and_each_peer_that_has_no_time() -> None:
    """A shape without its best peer looks better than it is."""
    notes = {
        "cuda_registers": "wrong: 3 rows.",
        "library_quack": "takes whole rows.",
        "eager": "wrong: a row.",
    }
    lines = list(markdown([seen(notes, triton_registers=1.0), seen(notes, triton_registers=1.0, eager=1.0)]))
    assert lines.count(f"\n- softmax/cuda_registers at {TASK.label}: wrong: 3 rows.") == 2
    assert f"\n- softmax/eager at {TASK.label}: wrong: a row." in lines
    assert lines[-1] == "\n- softmax/library_quack has no time at 2 shapes: takes whole rows."


def test_what_an_empty_call_took_is_said_where_it_was_timed() -> None:
    shapes = [replace(seen(eager=2.0), floor_us=us) for us in (None, 1.25, 3.9, 1.5)]
    assert list(markdown(shapes))[-1] == "\nA call of one element took 1.25 to 3.90 us, 1.50 in the middle."
    assert not any("one element" in line for line in markdown(shapes[:1]))
