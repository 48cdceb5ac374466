"""How long what runs foreign code may take before the worker is ended.

A call gets a thousand times what its own roof allows, and 10 s at least; what compiles or tunes has minutes,
because from outside a compiler at work looks like a kernel that never ends. Launches tell them apart, because
they return: once a call has returned, only the device is waited for. What has been timed gets many times as
long as it took then.
"""

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Provider, Work
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Bound
from roofscope.profiling.worker.build.machine_code import MOST_S as DISASSEMBLY_S
from roofscope.profiling.worker.candidate.messages import (
    Begin,
    Block,
    Build,
    Call,
    Collect,
    HeatedBlocks,
    HostTime,
    Info,
    KeepBusy,
    MeasureEnergy,
    Profile,
    ReadMemory,
    Record,
    Replay,
    Request,
    Reveal,
    RunPass,
    Settle,
    SettleRunnerUp,
    SingleCalls,
)

COMPILE_S = 240.0
INTERPRET_S = 120.0  # of a call in Triton's interpreter, for which small sizes are chosen
OWN_WORK_S = 240.0  # of the referee's own code: inputs and comparisons of gigabytes on a busy CPU
LOAD_REFERENCE_S = 15.0
_LEAST_CALL_S = 10.0
_LEAST_REFERENCE_S = 15.0
_FIRST_CALL_S = 15.0  # loads what libraries load when they are first used
_IMPORT_S = 15.0  # of a file; torch and Triton are imported by then
_IMPORT_LIBRARY_S = 60.0  # which may be as large as these
_BEGIN_S = 60.0  # imports torch's compiler, or makes a context on a GPU
_QUICK_S = 15.0  # of what takes milliseconds, beside the calls that it makes
_PROFILE_S = 60.0  # instruments that start up within, compilers' reports
_MOST_S = 240.0
_OF_ROOF = 1000.0  # a naive kernel takes a hundred times as long as its roof allows
_OF_PACE = 20.0  # times as long as what was timed last
_SETTLED_CALLS = 4  # at least are timed together when an implementation is settled
# A GPU of ten years ago, or one core: what is assumed where no data sheet says more.
_LEAST_BYTE_PER_S, _LEAST_FLOP_PER_S = 10e9, 10e9


class Deadline(Struct, frozen=True):
    """``detail``: what is being waited for, for the reader of the progress line."""

    seconds: float
    detail: str = ""


# Disassemblers keep to a budget of their own; what was not launched since it was tuned may compile again.
_FIXED: dict[type, Deadline] = {
    Begin: Deadline(_BEGIN_S),
    Reveal: Deadline(DISASSEMBLY_S + _PROFILE_S, "reading its generated code"),
    SettleRunnerUp: Deadline(COMPILE_S, "settling its tuner's runner-up"),
}


class Deadlines:
    """Of one job on one device; learns how long calls take."""

    def __init__(self, job: Job, device: Device) -> None:
        self._on_gpu = device.id != "cpu"
        self._roof_s = roof_s(job.work, device)
        self._providers: dict[int, Provider] = {}  # by the numbers of implementations that were built
        self._interpreted: set[int] = set()
        self._called: set[int] = set()
        # The slowest call or block of each: odd sizes and hot caches are faster than what follows.
        self._pace_s: dict[int, float] = {}
        self._launch: tuple[int, float] | None = None  # a call whose results are awaited, and its time so far

    @property
    def reference_s(self) -> float:
        """It computes in float64, which GPUs for games do at a sixty-fourth of the speed."""
        return min(max(_OF_ROOF * self._roof_s, _LEAST_REFERENCE_S), _MOST_S)

    def of(self, request: Request) -> Deadline:
        match request:
            case Begin() | Reveal() | SettleRunnerUp():
                return _FIXED[type(request)]
            case Build():
                return self._of_build(request)
            case Call(number=number):
                return self._of_call(number)
            case Collect():
                return Deadline(self._call_s, "waiting for its results" if self._on_gpu else "")
            case Settle(number=number):
                if self._compiles_at_call(number):
                    return Deadline(COMPILE_S)
                return self._many(number, _QUICK_S)
            case Block(number=number):
                return self._many(number, self._call_s)
            case RunPass(number=number, count=count):
                return self._many(number, _QUICK_S, count)
            case (
                Replay(number=number)
                | KeepBusy(number=number)
                | HostTime(number=number)
                | SingleCalls(number=number)
                | ReadMemory(number=number)
            ):
                return self._many(number, _QUICK_S)
            case Record(number=number) if self._compiles_at_call(number):  # in a process of its own
                return Deadline(COMPILE_S, "compiling")
            case (
                MeasureEnergy(number=number)
                | HeatedBlocks(number=number)
                | Profile(number=number)
                | Info(number=number)
                | Record(number=number)
            ):
                return self._many(number, _PROFILE_S)
            case _:
                return Deadline(_QUICK_S)

    def learn(self, request: Request, wall_s: float) -> None:
        """How long it took."""
        match request:
            case Call(number=number):
                # Of what compiles at its call, that is no pace; on a GPU a call returns before it has begun.
                self._launch = (number, 0.0 if self._compiles_at_call(number) else wall_s)
                self._called.add(number)
                self._note(number, self._launch[1])
            case Collect() if self._launch:
                number, launched_s = self._launch
                self._launch = None
                self._note(number, launched_s + wall_s)
            case Settle(number=number) if not self._compiles_at_call(number):
                self._note(number, wall_s / _SETTLED_CALLS)
            case Block(number=number):
                self._note(number, wall_s)
            case _:
                pass

    def _note(self, number: int, wall_s: float) -> None:
        self._pace_s[number] = max(self._pace_s.get(number, 0.0), wall_s)

    @property
    def _call_s(self) -> float:
        return min(max(_OF_ROOF * self._roof_s, _LEAST_CALL_S), _MOST_S)

    def _of_build(self, request: Build) -> Deadline:
        provider, target = request.implementation.provider, request.target
        if target and not target.interprets:
            return Deadline(COMPILE_S, f"compiling for {target.architecture}")
        if target:
            self._interpreted.add(request.number)
        else:
            self._interpreted.discard(request.number)
        self._providers[request.number] = provider
        if provider.facts.compiles_when_built:
            return Deadline(COMPILE_S)
        return Deadline(_IMPORT_LIBRARY_S if provider.facts.imports_long else _IMPORT_S)

    def _of_call(self, number: int) -> Deadline:
        if number in self._interpreted:
            return Deadline(INTERPRET_S, "interpreting")
        if self._compiles_at_call(number):
            return Deadline(COMPILE_S, "compiling")
        return Deadline(self._call_s if number in self._called else max(self._call_s, _FIRST_CALL_S))

    def _compiles_at_call(self, number: int) -> bool:
        """Whether its calls compile or tune; the others' machine code is there once they are built."""
        provider = self._providers.get(number)
        return provider is not None and provider.facts.compiles_at_call

    def _many(self, number: int, least_s: float, count: int = 1) -> Deadline:
        """Calls as many as were seen together, ``count`` times."""
        return Deadline(min(max(_OF_PACE * count * self._pace_s.get(number, 0.0), least_s), _MOST_S))


def roof_s(work: Work, device: Device) -> float:
    """About what the work takes at best. No roof is measured yet, and none is known of a CPU."""
    found = {ceiling.bound: ceiling.value for ceiling in nameplate(device, "")}
    return max(
        work.byte_count / found.get(Bound.DRAM, _LEAST_BYTE_PER_S),
        work.flop_count / found.get(Bound.FP32, _LEAST_FLOP_PER_S),
    )
