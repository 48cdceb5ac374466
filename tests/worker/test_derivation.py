"""Work is derived in a process of its own, which a reference may end."""

from pathlib import Path

import pytest

from roofscope.profiling.planning.derivation import DeriveError, Question, derive
from roofscope.profiling.planning.spec import Pipe, TensorSpec

X = TensorSpec("x", ("rows", "cols"))
W = TensorSpec("w", ("cols", "cols"))


def question(tmp_path: Path, source: str) -> Question:
    path = tmp_path / "reference.py"
    path.write_text(source)
    return Question(str(path), (X, W), sizes={"rows": 64, "cols": 16})


def test_work_and_outputs_come_as_formulas(tmp_path: Path) -> None:
    found = derive(question(tmp_path, "print('hello')\ndef run(x, w):\n    return x @ w\n"))
    assert found.work.flop_count == "2*rows*cols*cols"
    assert found.work.read_bytes == "rows*cols*s + cols*cols*s"
    assert found.work.write_bytes == "rows*cols*s"
    assert [(one.name, one.shape) for one in found.outputs] == [("y", ("rows", "cols"))]
    assert found.pipe is Pipe.TENSOR
    assert found.work.derived.startswith("Derived from the reference:")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def run(x, w):\n    return w @ x[:, 0, 0]\n", "cannot be run on these tensors: IndexError"),
        ("def run(x, w)\n", "cannot be run on these tensors: line 1"),
        ("import os\nos._exit(3)\n", "ended the process that runs it (exit code 3)"),
        ("import os\ndef run(x, w):\n    os.kill(os.getpid(), 11)\n", "(signal 11)"),
        ("exit()\n", "it ends the program that reads it"),
    ],
    ids=["raises", "syntax", "ends", "crashes", "exits"],
)
def test_a_reference_that_fails_is_one_sentence(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(DeriveError) as caught:
        derive(question(tmp_path, source))
    assert said in str(caught.value)


def test_a_reference_without_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(DeriveError, match="does not end within 8 s"):
        derive(question(tmp_path, "while True: pass\n"), patience_s=8)
