"""How long a call may take before its worker is ended: a compiler has minutes, a kernel one."""

import pytest
import torch

from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.worker.job.first_calls import of_call

CUDA, CPU = torch.device("cuda"), torch.device("cpu")


def deadlines_s(provider: Provider, device: torch.device) -> list[float]:
    """Of the call, and of what follows once it has returned."""
    return [of_call(provider, device, has_returned=returned)[1] for returned in (False, True)]


@pytest.mark.parametrize("provider", [Provider.CUDA, Provider.CUDA_EXT, Provider.EAGER])
def test_what_was_compiled_when_built_has_a_minute(provider: Provider) -> None:
    assert deadlines_s(provider, CUDA) == [60.0, 60.0]


@pytest.mark.parametrize("provider", [Provider.TRITON, Provider.COMPILE, Provider.LIBRARY])
def test_what_compiles_has_its_time_until_the_launch_returns(provider: Provider) -> None:
    """A launch returns at once: what is waited for then is a kernel, and an endless one has a minute."""
    assert deadlines_s(provider, CUDA) == [240.0, 60.0]


def test_on_a_cpu_the_call_has_a_minute_and_the_reference_more() -> None:
    assert deadlines_s(Provider.EAGER, CPU) == [60.0, 240.0]
