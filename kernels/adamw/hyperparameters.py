"""The constants of the step: PyTorch's defaults, in the thousandth step.

``MEAN_CORRECTION`` and ``SQUARE_CORRECTION`` are what the means lack of their weights in that step.
"""

RATE = 1e-3
BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-8
DECAY = 1e-2
STEP = 1000

MEAN_CORRECTION = 1 - BETA_1**STEP
SQUARE_CORRECTION = 1 - BETA_2**STEP

# As a fused step takes them: computed once, in double.
KEPT = 1 - RATE * DECAY  # of a parameter
STEP_RATE = RATE / MEAN_CORRECTION
INVERSE_ROOT = SQUARE_CORRECTION**-0.5  # what the root of a mean of squares is multiplied by
