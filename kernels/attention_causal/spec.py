"""Causal attention: a query sees the keys up to its own place, so about half the products of ``attention``.

FLOPs are those of the pairs that are seen, seq (seq + 1) / 2 a head; torch's own counter knows no mask.
"""

from msgspec.structs import replace

from roofscope import WorkFormula
from roofscope.kernels.attention.spec import SPEC as ATTENTION

SPEC = replace(
    ATTENTION,
    name="attention_causal",
    title="Causal attention",
    formula="o[i] = softmax over j <= i of (q[i] k[j] / sqrt(dim)), times v[j]",
    work=WorkFormula(
        flop_count="2*batch*heads*seq*(seq + 1)*dim",
        read_bytes=ATTENTION.work.read_bytes,
        write_bytes=ATTENTION.work.write_bytes,
    ),
)
