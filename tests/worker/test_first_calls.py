"""How long a call may take before its worker is ended: a compiler has minutes, a kernel one."""

from typing import Any

import pytest
import torch

from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.worker.job.first_calls import watched

CUDA, CPU = torch.device("cuda"), torch.device("cpu")


def announced(provider: Provider, device: torch.device) -> list[Any]:
    """What is announced, and when the call is made."""
    log: list[Any] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        log.append("call")
        return x

    x = torch.empty(0)
    assert watched(call, provider, device, lambda _, deadline_s: log.append(deadline_s))(x) is x
    return log


@pytest.mark.parametrize("provider", [Provider.CUDA, Provider.CUDA_EXT, Provider.EAGER])
def test_what_was_compiled_when_built_has_a_minute(provider: Provider) -> None:
    assert announced(provider, CUDA) == [60.0, "call", 60.0]


@pytest.mark.parametrize("provider", [Provider.TRITON, Provider.COMPILE, Provider.LIBRARY])
def test_what_compiles_has_its_time_until_the_launch_returns(provider: Provider) -> None:
    """A launch returns at once: what is waited for then is a kernel, and an endless one has a minute."""
    assert announced(provider, CUDA) == [240.0, "call", 60.0]


def test_on_a_cpu_the_call_has_a_minute_and_the_reference_more() -> None:
    assert announced(Provider.EAGER, CPU) == [60.0, "call", 240.0]
