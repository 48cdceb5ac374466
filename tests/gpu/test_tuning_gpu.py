"""What autotuners try on a GPU: a user's file as it stands, by command, and a product of this repository."""

import json
import shutil
from pathlib import Path

import pytest

from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.tuning import LeftOut
from roofscope.tests.faults.run import keep_ceilings
from roofscope.tests.gpu.recorded import DEVICE
from roofscope.tests.worker.command_line import main

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and Triton's own, while they compile

FILE = Path(__file__).parents[1] / "data" / "autotuned_matmul.py"


def test_each_configuration_of_a_users_file_has_its_time_or_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DEVICE is not None
    monkeypatch.setenv("ROOFSCOPE_BRIEF", "1")  # what becomes of the times is asked, not for good ones
    keep_ceilings(tmp_path / "cache", DEVICE)
    shutil.copy(FILE, tmp_path)
    out = tmp_path / "tuned.roofscope"
    words = ("--reference", "a @ b", "--input", "a=2048x2048:fp16", "--input", "b=2048x2048:fp16")
    made = main(
        tmp_path, "run", f"{tmp_path / FILE.name}:matmul", *words, "--provider", "triton", "--out", out
    )
    assert made.returncode == 0, made.stdout + made.stderr
    said = main(tmp_path, "tuning", out, "--json")
    [tuning] = json.loads(said.stdout)["tunings"]
    assert tuning["kernel"] == "product"
    left_out = [each["left_out"] for each in tuning["configurations"]]
    assert left_out == [None] * 4 + [str(LeftOut.RESOURCES), str(LeftOut.PRUNED)]
    assert "shared memory: " in tuning["configurations"][4]["reason"]
    assert sum(each["is_winner"] for each in tuning["configurations"]) == 1
    assert tuning["runner_up_missing"] == ""
    assert tuning["runner_up_low"] < tuning["runner_up_ratio"] < tuning["runner_up_high"]


def test_a_tuned_product_is_timed_beside_its_runner_up(compiled: tuple[Session, Path]) -> None:
    """The winner's kernel is that which the point's profile has, whatever ran in between."""
    points = [point for point in compiled[0].points if point.job.workload.kernel == "matmul"]
    found = {point.implementation.stem: point.outcome for point in points}
    eager, tuned = found["eager"], found["triton_grouped"]
    assert isinstance(eager, Measured)
    assert isinstance(tuned, Measured), tuned
    assert eager.tunings == ()
    [tuning] = tuned.tunings
    second = tuning.runner_up
    assert second is not None
    assert second.time is not None, second.missing
    assert set(second.time.rounds) & set(tuned.time.rounds) & set(eager.time.rounds)
    winner = tuning.configurations[tuning.winner]
    built = {dict(kernel.constants).get("BLOCK_M") for kernel in tuned.build.kernels}
    assert built == {dict(winner.options)["BLOCK_M"]}
