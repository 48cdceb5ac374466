"""How often each of 256 keys occurs in an array: a sum whose places the data choose.

Compulsory work of n keys: n FLOP (an addition each, of integers); 4 bytes a key are read once, 256 counts of
8 bytes are written. Keys are from 0 to 255. The workload's dtype is that of nothing here.
"""

from roofscope import Axis, Dtype, Element, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, ODD_LENGTHS

SPEC = KernelSpec(
    name="histogram",
    title="Histogram of 256 bins",
    formula="count[b] = the number of i with key[i] = b, b < 256",
    axes=(Axis("n", "keys"),),
    inputs=(TensorSpec("key", ("n",), element=Element.INT32, fill=Fill.INTEGER, below="256"),),
    outputs=(TensorSpec("count", ("256",), element=Element.INT64),),
    work=WorkFormula(flop_count="n", read_bytes="n*4", write_bytes="256*8"),
    # Whole numbers, of which none is rounded: an error is 0, or a count is wrong. One key of 2^28 that is
    # lost is 6e-8 of the norm.
    tolerance=Tolerance(float32=1e-9, float16=1e-9, bfloat16=1e-9),
    presets=(Preset("small", {"n": 2**20}), Preset("medium", {"n": 2**24}), Preset("large", {"n": 2**28})),
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1.0,  # keys are of one range
    dtypes=(Dtype.FLOAT32,),
)
