"""Figures within what any machine gives: checked wherever a value is read, and nowhere in a timed path.

So no view divides by a time of zero or takes the logarithm of a ceiling below it, and no product of figures
from a file runs over.
"""

from typing import Annotated

from msgspec import Meta

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
CallSeconds = Annotated[float, Meta(ge=1e-12, le=1e9)]  # of a call that was timed
Hertz = Annotated[float, Meta(ge=0, le=1e13)]
Rate = Annotated[float, Meta(ge=1, le=1e24)]  # byte/s or FLOP/s
Figure = Annotated[float, Meta(ge=-1e30, le=1e30)]  # of any unit
LARGEST_AMOUNT = 10**18
Amount = Annotated[int, Meta(ge=0, le=LARGEST_AMOUNT)]  # bytes, FLOPs, elements
Element = Annotated[float, Meta(ge=-1e300, le=1e300)]  # of a kernel's output
Count = Annotated[int, Meta(ge=0, le=2**62)]
