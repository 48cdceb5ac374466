"""What a quick look at drawn shapes comes to, on invented times without a GPU."""

import math

from roofscope.benchmarks.shapes.glance import Seen, Task, markdown
from roofscope.profiling.planning.spec import Dtype

OURS = ("cuda_registers", "triton_registers")
TASK = Task("softmax", Dtype.BFLOAT16, 1, "any", {"rows": 7, "cols": 9}, (*OURS, "eager"), OURS)


def seen(notes: dict[str, str] | None = None, **times: float) -> Seen:
    return Seen(TASK, times, notes or {}, 0.25)


def test_the_ratio_is_that_of_the_fastest_of_either_side() -> None:
    one = seen(cuda_registers=2.0, triton_registers=4.0, eager=3.0, compile_default=1.0)
    assert one.ratio == 0.5


def test_without_a_time_of_ours_the_shape_falls_short_and_without_a_peer_it_does_not() -> None:
    assert seen(eager=1.0).ratio == 0.0
    assert seen(cuda_registers=1.0).ratio == math.inf


def test_the_slowest_shape_comes_first_and_the_kernel_has_a_row() -> None:
    rows = list(markdown([seen(cuda_registers=1.0, eager=2.0), seen(cuda_registers=2.0, eager=1.0)]))
    assert "**0.500**" in rows[2]
    assert rows[-1] == "| softmax | 2 | 1.250 | 0.500 | 1 | 0.25 |"


def test_what_is_wrong_is_said_and_what_a_library_refuses_is_not() -> None:
    notes = {
        "cuda_registers": "wrong: 3 rows.",
        "library_quack": "takes whole rows.",
        "eager": "wrong: a row.",
    }
    text = "\n".join(markdown([seen(notes, triton_registers=1.0, eager=1.0)]))
    assert f"softmax/cuda_registers at {TASK.label}: wrong: 3 rows." in text
    assert "softmax/eager" in text
    assert "library_quack" not in text
