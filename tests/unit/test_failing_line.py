"""The line that a failure names, in logs as compilers and Python write them."""

import pytest

from roofscope.app.presentation.source.failing_line import FailingLine, failing_line
from roofscope.app.presentation.source.texts import SourceText, shown_text
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Stage

CU = shown_text("cuda_naive.cu", "\n".join(f"line {number}" for number in range(1, 31)))
LAUNCHER = shown_text("cuda_naive.py", "\n".join(f"line {number}" for number in range(1, 11)))
EAGER = shown_text("eager.py", "\n".join(f"line {number}" for number in range(1, 11)))
TRITON = shown_text(
    "triton_a.py", "import triton\n\n\n@triton.jit\ndef _a(x):\n    y = tl.nothing(x)\n    return\n"
)

TRACEBACK = """Traceback (most recent call last):
  File "/home/u/kernels/softmax/eager.py", line 3, in run
    return inner(x)
  File "/home/u/kernels/softmax/eager.py", line 8, in inner
    return x.cat()
AttributeError: 'Tensor' object has no attribute 'cat'
"""
NVRTC = """cuda_naive.cu(12): error: identifier "y" is undefined
      y[i] = 1;
1 error detected in the compilation of "cuda_naive.cu".
"""


def failed(log: str, message: str = "") -> Failed:
    return Failed(FailureKind.BUILD_ERROR, Stage.BUILD, message, log)


@pytest.mark.parametrize(
    ("log", "files", "expected"),
    [
        (
            TRACEBACK,
            [EAGER],
            FailingLine("eager.py", 8, "AttributeError: 'Tensor' object has no attribute 'cat'"),
        ),
        (NVRTC, [CU, LAUNCHER], FailingLine("cuda_naive.cu", 12, 'identifier "y" is undefined')),
        (NVRTC.replace("cuda_naive.cu(", "default_program("), [CU, LAUNCHER], 12),
        (NVRTC.replace("cuda_naive.cu(", "/home/u/k/cuda_naive.cu("), [CU], 12),
        ("cuda_naive.cu:7:5: error: expected ';'\n", [CU], FailingLine("cuda_naive.cu", 7, "expected ';'")),
        (
            "x\ncuda_naive.cu(3): catastrophic error: no file\n",
            [CU],
            FailingLine("cuda_naive.cu", 3, "no file"),
        ),
        ("at 2:8:\ndef _a(x):\n    y = tl.nothing(x)\n        ^\nNameError: no", [TRITON], 6),
        ("cuda_naive.cu(12): warning: unused\n", [CU], None),
        ("cuda_naive.cu(99): error: beyond\n", [CU], None),
        ('File "/lib/torch/eager2.py", line 3, in x', [EAGER], None),
        ("", [EAGER], None),
        ("cuda_naive.cu(12): error: x", [], None),
    ],
)
def test_the_line_is_found(log: str, files: list[SourceText], expected: FailingLine | int | None) -> None:
    found = failing_line(failed(log), files)
    if isinstance(expected, int):
        assert found is not None
        assert found.line == expected
    else:
        assert found == expected


def test_only_a_failure_has_one() -> None:
    assert failing_line(Cancelled(), [EAGER]) is None


def test_a_hostile_log_is_searched_in_no_time_and_shown_in_one_line() -> None:
    log = f"cuda_naive.cu(12): error: a\x1b[31m {'x' * 10_000}\n" + "cuda_naive.cu(" * 50_000
    found = failing_line(failed(log), [CU])
    assert found is not None
    assert len(found.words) == 400
    assert "\x1b" not in found.words
