"""Work is derived in a process of its own, which a reference may end."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.profiling.planning.derivation import DeriveError, Question, derive
from roofscope.profiling.planning.spec import Element, Pipe, TensorSpec

X = TensorSpec("x", ("rows", "cols"))
W = TensorSpec("w", ("cols", "cols"))
IN_DOUBLE = "def run(x, w):\n    return x.double() @ w.double()\n"


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


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 11)", "raise ValueError"])
def test_an_implementation_that_fails_costs_only_what_it_would_have_said(tmp_path: Path, ending: str) -> None:
    subject = tmp_path / "eager.py"
    subject.write_text(f"import os\ndef run(x, w):\n    {ending}\n")
    asked = replace(question(tmp_path, IN_DOUBLE), subject=str(subject))
    assert [one.element for one in derive(asked).outputs] == [None]


def test_an_implementation_says_which_types_it_returns(tmp_path: Path) -> None:
    subject = tmp_path / "eager.py"
    subject.write_text("def run(x, w):\n    return (x @ w).half()\n")
    asked = replace(question(tmp_path, IN_DOUBLE), subject=str(subject))
    found = derive(asked)
    assert [one.element for one in found.outputs] == [Element.FLOAT16]
    assert found.work.write_bytes == "rows*cols*2"


def test_a_reference_without_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(DeriveError, match="does not end within 8 s"):
        derive(question(tmp_path, "while True: pass\n"), patience_s=8)
