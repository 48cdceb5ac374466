"""What Triton's compiler refuses has the line of the user's file, by each Triton that is allowed."""

import textwrap
from pathlib import Path

import pytest

from roofscope.profiling.planning.loading import load_module
from roofscope.profiling.results.outcome import Failed, Stage
from roofscope.profiling.worker.failures import classify

SOURCE = """
    import triton
    import triton.language as tl


    @triton.jit
    def shifted(at, n):
        return at + {term}


    @triton.jit
    def copy(
        x, y, n, BLOCK: tl.constexpr
    ):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + shifted(at, n), mask=at < n), mask=at < n)
"""


@pytest.mark.parametrize(
    ("term", "block", "said"),
    [
        ("0", 1000, "copy.py:15: arange's range must be a power of 2"),
        ("nope", 1024, "copy.py:8: NameError('nope is not defined')"),
    ],
)
def test_triton_errors_name_the_line_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str, block: int, said: str
) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns where it is not chosen
    path = tmp_path / "copy.py"
    path.write_text(textwrap.dedent(SOURCE).format(term=term))
    kernel = load_module(path).copy
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    with pytest.raises(Exception, match="at ") as raised:
        triton.compile(ASTSource(kernel, signature, {"BLOCK": block}), target=GPUTarget("cuda", 90, 32))
    outcome = classify(raised.value, what="copy", stage=Stage.BUILD, device_is_sound=True)
    assert isinstance(outcome, Failed)
    assert outcome.message == f"copy was not built: {said}"
