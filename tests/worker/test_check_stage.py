"""What the last stage adds to a measurement."""

import pytest

torch = pytest.importorskip("torch")

from roofscope.profiling.worker.job.check_stage import rotated_bytes  # noqa: E402


def test_the_bytes_of_all_input_sets_count() -> None:
    sets = [(torch.zeros(1000), torch.zeros(10, dtype=torch.float16)) for _ in range(3)]
    assert rotated_bytes(sets) == 3 * (4000 + 20)
