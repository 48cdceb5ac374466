"""Gradients of attention by its inputs, from the output's gradient and what the forward pass left.

Compulsory work: five products of 2 seq seq dim FLOP a head, of which the first, Q K^T, is done once more
because its seq x seq results were not kept. The logarithm of each query's sum of exponentials (lse, base e)
was; it turns a product into its weight without a second softmax.
"""

from roofscope import Element, Fill, KernelSpec, Pipe, TensorSpec, Tolerance, WorkFormula
from roofscope.kernels.attention.spec import HEADS, sizes
from roofscope.kernels.attention.spec import SPEC as ATTENTION

SPEC = KernelSpec(
    name="attention_backward",
    title="Attention, gradients",
    formula="p = exp(q k^T / sqrt(dim) - lse), ds = p (do v^T - rows of do o) / sqrt(dim): "
    "dq = ds k, dk = ds^T q, dv = p^T do",
    axes=ATTENTION.axes,
    inputs=(
        *ATTENTION.inputs,
        TensorSpec("o", HEADS, fill=Fill.DERIVED),
        TensorSpec("lse", HEADS[:3], element=Element.FLOAT32, fill=Fill.DERIVED),
        TensorSpec("do", HEADS),
    ),
    outputs=tuple(TensorSpec(name, HEADS) for name in ("dq", "dk", "dv")),
    work=WorkFormula(
        flop_count="10*batch*heads*seq*seq*dim",
        read_bytes="5*batch*heads*seq*dim*s + 4*batch*heads*seq",
        write_bytes="3*batch*heads*seq*dim*s",
    ),
    # As attention: the weights or ds are rounded to 16 bits, and the gradient once more. In float16 the
    # weights of thousands of keys come near the subnormal numbers and carry fewer bits.
    tolerance=Tolerance(float32=1e-5, float16=2e-3, bfloat16=8e-3),
    presets=ATTENTION.presets,
    odd_sizes=(sizes(1, 1, 257, 64), *ATTENTION.odd_sizes[1:]),
    # Gradients grow with the fourth power of the inputs: at 4 they stay below float16's 65504.
    large_magnitude=4.0,
    pipe=Pipe.TENSOR,
    dtypes=ATTENTION.dtypes,
    sweep=ATTENTION.sweep,
)
