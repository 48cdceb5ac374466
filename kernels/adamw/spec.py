"""One step of AdamW over all parameters of a model as one flat array, in float32.

Compulsory work of n parameters: 14n FLOP (decay; 3 for the mean, 4 for the mean of squares; root, its
correction, epsilon, quotient, step and difference), 28n bytes: four arrays are read and three written. A step
of an optimiser works in place and moves the same bytes; here its results are new arrays, as no implementation
writes to an input. Rates and the number of the step are constants: hyperparameters.py has them.
"""

from roofscope import Axis, Dtype, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, ODD_LENGTHS

SPEC = KernelSpec(
    name="adamw",
    title="AdamW step",
    formula=(
        "m' = b1 m + (1 - b1) g; v' = b2 v + (1 - b2) g^2; "
        "p' = (1 - lr wd) p - lr m' / (1 - b1^t) / (sqrt(v' / (1 - b2^t)) + eps)"
    ),
    axes=(Axis("n", "parameters"),),
    inputs=(
        TensorSpec("parameter", ("n",)),
        TensorSpec("gradient", ("n",)),
        TensorSpec("mean", ("n",)),
        TensorSpec("mean_square", ("n",), fill=Fill.POSITIVE),
    ),
    outputs=(
        TensorSpec("new_parameter", ("n",)),
        TensorSpec("new_mean", ("n",)),
        TensorSpec("new_mean_square", ("n",)),
    ),
    work=WorkFormula(flop_count="14*n", read_bytes="4*n*s", write_bytes="3*n*s"),
    # Two or three roundings of 2^-24 each. A step is some 1e-3 of a parameter, so that its hardware root and
    # reciprocal, of 2^-22, add nothing, and a step that is wrong by a thousandth is refused.
    tolerance=Tolerance(float32=3e-7, float16=1e-3, bfloat16=8e-3),
    presets=(Preset("small", {"n": 2**20}), Preset("medium", {"n": 2**23}), Preset("large", {"n": 2**26})),
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,
    dtypes=(Dtype.FLOAT32,),
)
