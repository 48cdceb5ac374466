"""A user's ``@triton.autotune`` as it stands, measured in Triton's interpreter by the worker's own stages."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from roofscope.profiling.decoding import decode
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.tuning import LeftOut
from roofscope.tests.worker.autotuned import INTERPRETED, measured


def test_an_autotuned_kernel_tells_what_it_tried(interpreters: ProcessPoolExecutor, tmp_path: Path) -> None:
    """Under either Triton that the tests run with."""
    [found] = decode(interpreters.submit(measured, tmp_path, INTERPRETED).result(), tuple[Outcome, ...])
    assert isinstance(found, Measured), found
    [tuning] = found.tunings
    assert tuning.kernel == "double"
    assert tuning.key == ("n=65536", "torch.float32")
    assert [c.left_out for c in tuning.configurations] == [None, None, LeftOut.RESOURCES]
    assert [c.seconds for c in tuning.configurations] == [3e-3, 1e-3, None]
    assert tuning.winner == 1
    assert tuning.runner_up is not None
    assert (tuning.runner_up.configuration, tuning.runner_up.missing) == (0, "")
