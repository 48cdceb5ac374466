"""What the user is used to, from one start of the window to the next."""

from typing import Annotated

from msgspec import Meta, Struct

from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Dtype

MOST_TICKS = 5000
MOST_LETTERS = 4096

Name = Annotated[str, Meta(max_length=MOST_LETTERS)]
Ticks = Annotated[dict[Name, bool], Meta(max_length=MOST_TICKS)]  # by the names of implementations
MOST_PATIENCE = 1000.0


class PlanHabit(Struct, frozen=True):
    """The plan bar and the library as they were last left.

    Implementations are known by their names, in the folder that their kernel lies in: their files change.
    ``presets`` is None where the user chose none, so that each device has its own.
    """

    dtypes: tuple[Dtype, ...] = (Dtype.FLOAT32,)
    presets: tuple[Name, ...] | None = None
    own_sizes: Name = ""
    regime: Regime = Regime.BURST
    fill: Distribution = Distribution.UNIFORM
    quality: Quality = Quality.QUICK
    keeps_code: bool = False
    ticks: dict[Name, Ticks] = {}  # by folder of kernels; "" is the program's own
    architecture: Name = ""  # that code is compiled for on a CPU


class Habits(Struct, frozen=True):
    plan: PlanHabit = PlanHabit()
    remembers_plan: bool = True
    reopens_last: bool = True
    measures_on_save: bool = False
    patience: Annotated[float, Meta(ge=1.0, le=MOST_PATIENCE)] = 1.0
    commands: tuple[Name, ...] = ()  # those last found in the palette, the newest first
