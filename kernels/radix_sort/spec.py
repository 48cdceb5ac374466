"""One long array of whole numbers of 32 bits in ascending order.

Compulsory work of n keys: they are read once and written once, 8 bytes a key; no FLOP, as nothing is
computed. A radix sort by four digits of 8 bits moves 36 bytes a key: one pass that counts, and four that read
and write. The workload's dtype is that of nothing here.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ODD_LENGTHS

SPEC = KernelSpec(
    name="radix_sort",
    title="Sort of one array",
    formula="y = the keys in ascending order",
    axes=(Axis("n", "keys"),),
    inputs=(TensorSpec("key", ("n",), element=Element.INT32, fill=Fill.INTEGER, below="2147483647"),),
    outputs=(TensorSpec("sorted", ("n",), element=Element.INT32),),
    work=WorkFormula(flop_count="0", read_bytes="n*4", write_bytes="n*4"),
    # Whole numbers, of which none changes: an error is 0, or a key is in a wrong place.
    tolerance=Tolerance(float32=1e-12, float16=1e-12, bfloat16=1e-12),
    presets=(Preset("small", {"n": 2**20}), Preset("medium", {"n": 2**24}), Preset("large", {"n": 2**28})),
    on_request=("cuda_naive",),  # hundreds of passes over memory a call
    sweep=tuple({"n": 2**power} for power in range(14, 30, 2)),
    odd_sizes=({"n": 20_011}, *ODD_LENGTHS, {"n": 8193}, {"n": 300_007}),
    large_magnitude=1.0,  # keys are of one range
    dtypes=(Dtype.FLOAT32,),
)
