"""The training step: compiled as one graph in both directions, and without a trace in what it is given."""

from pathlib import Path

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, eager, random_inputs, reference, relative_error

STEP = LIBRARY / "training_step"


def inputs(dtype: Dtype = Dtype.FLOAT32) -> tuple[torch.Tensor, ...]:
    kernel = CATALOG.kernel("training_step")
    assert kernel
    return random_inputs(kernel, {"rows": 5, "cols": 12}, dtype)


@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
def test_the_forward_pass_is_one_graph_and_so_is_its_gradient() -> None:
    kernel = CATALOG.kernel("training_step")
    assert kernel
    module = load_module(Path(STEP / "eager.py"))
    module.region = torch.compile(module.region, backend="aot_eager", fullgraph=True)
    error = relative_error(module.run(*inputs()), reference(kernel, inputs()))
    assert error <= kernel.spec.tolerance.of(Dtype.FLOAT32)


@pytest.mark.parametrize("dtype", list(Dtype), ids=str)
def test_the_loss_is_in_float32_and_needs_no_gradient(dtype: Dtype) -> None:
    kernel = CATALOG.kernel("training_step")
    assert kernel
    given = inputs(dtype)
    with torch.no_grad():  # what measures may have switched gradients off
        loss, *gradients = eager(kernel, given)
    assert loss.dtype is torch.float32
    assert not any(tensor.requires_grad for tensor in (loss, *gradients, *given))
    assert all(tensor.grad is None for tensor in given)


def test_a_step_against_the_gradient_lowers_the_loss() -> None:
    """What a gradient is for; a sign or a factor that is lost shows here at once."""
    kernel = CATALOG.kernel("training_step")
    assert kernel
    x, w, b, v, t = (tensor.double() for tensor in inputs())
    loss, _, dw, db, dv = reference(kernel, (x, w, b, v, t))
    rate = 1e-3
    after, *_ = reference(kernel, (x, w - rate * dw, b - rate * db, v - rate * dv, t))
    expected = -rate * sum(float(gradient.square().sum()) for gradient in (dw, db, dv))
    assert float(after - loss) == pytest.approx(expected, rel=0.05)
