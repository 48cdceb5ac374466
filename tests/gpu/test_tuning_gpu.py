"""What autotuners try on a GPU: a user's file as it stands, by command, and a product of this repository."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.tuning import LeftOut
from roofscope.profiling.supervision.protocol import OutcomeReady
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import own_process
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.tests.kernels.cases import CATALOG
from roofscope.tests.worker.test_command_line import main

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and Triton's own, while they compile

FILE = Path(__file__).parents[1] / "data" / "autotuned_matmul.py"
DEVICE = next((device for device in local_devices() if device.id != "cpu"), None)


def test_each_configuration_of_a_users_file_has_its_time_or_a_reason(tmp_path: Path) -> None:
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


def test_a_tuned_product_is_timed_beside_its_runner_up() -> None:
    """The winner's kernel is that which the point's profile has, whatever ran in between."""
    kernel = CATALOG.kernel("matmul")
    assert kernel is not None
    assert DEVICE is not None
    [job] = plan_jobs(
        [kernel],
        device=DEVICE.id,
        dtypes=[Dtype.BFLOAT16],
        size_choices=[SizeChoice("large")],
        stems=["triton_grouped", "eager"],
    )
    events: list[object] = []
    torch.zeros(1, device=DEVICE.id)  # makes the context that a worker has by then
    with torch.cuda.device(DEVICE.id):
        JobExecutor(job, CATALOG, Instruments(DEVICE), own_process, events.append, lambda: None).run()
    found = {event.implementation.stem: event.outcome for event in events if isinstance(event, OutcomeReady)}
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
