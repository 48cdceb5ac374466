"""``run --debug`` on the command line, with a debug run that is played."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roofscope.app.cli import debug as debug_command
from roofscope.app.cli.commands import cli
from roofscope.app.cli.documents import DebugDocument
from roofscope.app.cli.errors import DONE, SOME_FAILED, USAGE
from roofscope.profiling.results.debugging import (
    DebugReport,
    DebugStage,
    Finding,
    Line,
    Mistake,
    Said,
    StageEnd,
    StageName,
)
from roofscope.profiling.supervision.debug_run import DebugRequest

RAN = DebugStage(StageName.INTERPRETER, StageEnd.CLEAN, "1 launch of k: all are right.")
LEFT_OUT = DebugStage(StageName.BUILD, StageEnd.LEFT_OUT, "Its machine code needs an NVIDIA GPU.")
FOUND = Finding(
    Mistake.NO_MASK,
    Line("/u/add.py", 14, "tl.store(y + i, v)"),
    "It writes 24 elements past the end of y.",
    "Give it a mask.",
    StageName.INTERPRETER,
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[DebugRequest]]:
    def play(stages: tuple[DebugStage, ...], *findings: Finding) -> list[DebugRequest]:
        requests: list[DebugRequest] = []

        def debugged(request: DebugRequest, hear: Callable[[Said], None], _: object) -> DebugReport:
            requests.append(request)
            for stage in stages:
                hear(Said(stage=stage))
            return DebugReport(request.implementation.key, request.workload.label, stages, findings, ())

        monkeypatch.setattr(debug_command, "debugged", debugged)
        return requests

    return play


def call(capsys: Any, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli(["run", *words, "--debug"], prog_name="roofscope")
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_a_finding_is_printed_with_its_line_and_ends_with_1(asked: Any, capsys: Any) -> None:
    requests = asked((RAN, LEFT_OUT), FOUND)

    code, out, _ = call(capsys, "softmax/triton_online", "--device", "cpu")

    assert code == SOME_FAILED
    assert [request.implementation.stem for request in requests] == ["triton_online"]
    assert requests[0].workload.sizes == {"rows": 37, "cols": 1031}
    for words in ("No mask, line 14 of add.py", "tl.store(y + i, v)", "Cure: Give it a mask.", "interpreter"):
        assert words in out


def test_a_clean_run_ends_with_0_and_one_that_could_not_run_with_2(asked: Any, capsys: Any) -> None:
    asked((RAN, LEFT_OUT))
    assert call(capsys, "softmax/triton_online", "--device", "cpu")[0] == DONE
    asked((LEFT_OUT,))
    assert call(capsys, "softmax/cuda_naive", "--device", "cpu")[0] == USAGE


def test_sizes_and_types_may_be_chosen(asked: Any, capsys: Any) -> None:
    requests = asked((RAN,))

    call(capsys, "softmax/triton_online", "--device", "cpu", "--size", "rows=3,cols=5", "--dtype", "bfloat16")

    (request,) = requests
    assert (request.workload.dtype, request.workload.sizes) == ("bfloat16", {"rows": 3, "cols": 5})


def test_json_is_one_document(asked: Any, capsys: Any) -> None:
    asked((RAN,), FOUND)

    code, out, _ = call(capsys, "softmax/triton_online", "--device", "cpu", "--json")

    document = msgspec.json.decode(out, type=DebugDocument)
    assert code == SOME_FAILED
    assert document.reports[0].findings == (FOUND,)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "--debug needs a version or a file"),
        (("softmax", "--svg"), "writes no session; leave --svg out"),
        (("softmax", "--watch"), "leave --watch out"),
        (("softmax/no_such",), "There is no version of softmax"),
    ],
)
def test_what_does_not_suit_it_is_refused(
    asked: Any, capsys: Any, words: tuple[str, ...], sentence: str
) -> None:
    requests = asked((RAN,))

    code, _, err = call(capsys, *words)

    assert (code, requests) == (USAGE, [])
    assert sentence in err


def test_of_a_file_only_its_own_functions_are_debugged(asked: Any, capsys: Any) -> None:
    requests = asked((RAN,))
    mistakes = Path(__file__).parents[1] / "data" / "mistakes"

    call(capsys, str(mistakes / "race.py"), "--device", "cpu", "--trust")

    assert [request.implementation.stem for request in requests] == ["triton_total"]
