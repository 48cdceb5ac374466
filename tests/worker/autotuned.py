"""Measures a toy whose version uses an autotuner, in this process or one that interprets Triton.

No import of torch at the top: a child sets what Triton reads before it imports anything.
"""

from pathlib import Path
from typing import Any

import msgspec

# A kernel without a compiler behind Triton's own autotuner. Its times are the test's: what counts is that
# they are reported, and that the referee has its own.
CONFIGURATIONS = """
    triton.Config({"BLOCK": 64}, num_warps=4),
    triton.Config({"BLOCK": 128}, num_warps=8),
    triton.Config({"BLOCK": 256}, num_warps=8, num_stages=2),
    triton.Config({"BLOCK": 1024}),
    triton.Config({"BLOCK": 512}, pre_hook=too_much),
    triton.Config({"BLOCK": 512}, num_warps=16, pre_hook=fails),
    triton.Config({"BLOCK": 32}, num_stages=7),
"""
SOURCE = '''
import torch, triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

MILLISECONDS = {{64: 3.0, 128: 1.0, 256: 2.0}}
LAST = []

def too_much(arguments):
    raise OutOfResources(300000, 232448, "shared memory")

def fails(arguments):
    raise RuntimeError("the \\x1b[31mpipeline\\nis broken")

def few(configs, arguments, **_):
    return [config for config in configs if config.kwargs["BLOCK"] < 1024]

def model(BLOCK, num_stages, **_):
    return 1000 if num_stages == 7 else 1

def bench(call, quantiles):
    try:
        call()
    except RuntimeError:
        return [float("inf")] * 3
    return [MILLISECONDS[LAST[-1]]] * 3

def kernel(x, y, n, BLOCK):
    """Only its name counts."""

class Kernel:
    fn = staticmethod(kernel)

    def run(self, x, y, n, BLOCK, **_):
        LAST.append(BLOCK)
        {work}

double = Autotuner(
    Kernel(), ["x", "y", "n"], [{configurations}], ["n"], None, None,
    prune_configs_by={{"early_config_prune": few, "perf_model": model, "top_k": 5}}, do_bench=bench,
)

def run(x):
    y = torch.empty_like(x)
    double.run(x, y, x.numel())
    return y
'''


def source(work: str = "torch.mul(x, 2, out=y)", configurations: str = CONFIGURATIONS) -> str:
    """``work``: what a launch does, with BLOCK in sight."""
    return SOURCE.format(work=work, configurations=configurations)


INTERPRETED = """
import torch, triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

LAST = []

def noted(arguments):
    LAST.append(arguments["BLOCK"])

def too_much(arguments):
    raise OutOfResources(300000, 232448, "shared memory")

def bench(call, quantiles):
    call()
    return [{16384: 3.0, 32768: 1.0}[LAST[-1]]] * 3

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 16384}, pre_hook=noted),
        triton.Config({"BLOCK": 32768}, num_warps=8, pre_hook=noted),
        triton.Config({"BLOCK": 65536}, pre_hook=too_much),
    ],
    key=["n"],
    do_bench=bench,
)
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def run(x):
    y = torch.empty_like(x)
    double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
"""


def measured(root: Path, text: str, connect: Any = None) -> bytes:
    """The outcomes of a toy whose eager version is this text, as JSON. ``connect`` makes its process."""
    from roofscope.profiling.devices.host import cpu_device
    from roofscope.profiling.planning.catalog import scan
    from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
    from roofscope.profiling.planning.spec import Dtype, Provider
    from roofscope.profiling.supervision.protocol import OutcomeReady
    from roofscope.profiling.worker.job.candidate_process import OwnProcess
    from roofscope.profiling.worker.job.executor import JobExecutor
    from roofscope.profiling.worker.timing.instruments import Instruments
    from roofscope.tests.worker.toys import add_toy

    add_toy(root, "toy", text)
    catalog = scan([root])
    [job] = plan_jobs(
        catalog.kernels,
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.EAGER],
    )
    said: list[Any] = []
    JobExecutor(
        job,
        catalog,
        Instruments(cpu_device()),
        lambda _: (connect or OwnProcess)(),
        said.append,
        lambda: None,
    ).run()
    return msgspec.json.encode([event.outcome for event in said if isinstance(event, OutcomeReady)])
