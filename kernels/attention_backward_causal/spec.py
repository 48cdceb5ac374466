"""Gradients of causal attention: five products over the seq (seq + 1) / 2 pairs of a head that are seen."""

from msgspec.structs import replace

from roofscope import WorkFormula
from roofscope.kernels.attention_backward.spec import SPEC as BACKWARD

SPEC = replace(
    BACKWARD,
    name="attention_backward_causal",
    title="Causal attention, gradients",
    formula=f"{BACKWARD.formula}; p[i, j] = 0 for j > i",
    work=WorkFormula(
        flop_count="5*batch*heads*seq*(seq + 1)*dim",
        read_bytes=BACKWARD.work.read_bytes,
        write_bytes=BACKWARD.work.write_bytes,
    ),
)
