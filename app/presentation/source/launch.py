"""How the kernels of a call are launched and what their compiler made of them, as facts."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import count_text, memory_text, percent_text, time_text
from roofscope.profiling.analysis.occupancy import Cause, Occupancy, in_grid, occupancy
from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.outcome import (
    BuildInfo,
    BuiltKernel,
    Examined,
    Launch,
    Measured,
    ProfiledKernel,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.architecture import gpu_of

_LONGEST_NAME = 100
_CAUSES = {
    Cause.REGISTERS: "registers",
    Cause.SHARED_MEMORY: "shared memory",
    Cause.WARPS: "nothing: all warps are taken",
    Cause.BLOCKS: "the number of blocks",
    Cause.GRID: "the grid: fewer blocks than fit",
}
_OCCUPANCY_TIP = "Of the warps that a multiprocessor holds: from registers, shared memory and threads"


class KernelFacts(Struct, frozen=True):
    """One kernel of a call: what the profiler saw of it, and what the compiler said."""

    name: str
    profiled: ProfiledKernel | None = None
    built: BuiltKernel | None = None

    @property
    def launch(self) -> Launch | None:
        if self.profiled:
            return self.profiled.launch
        return self.built.launch if self.built else None

    @property
    def registers(self) -> int | None:
        seen = self.launch.registers if self.launch else None
        return seen if seen is not None else self.built.registers if self.built else None

    @property
    def shared_bytes(self) -> int | None:
        """Declared and asked for at the launch, together."""
        seen = self.launch.shared_bytes if self.launch else None
        return seen if seen is not None else self.built.shared_bytes if self.built else None

    @property
    def threads(self) -> int | None:
        if self.launch:
            return self.launch.threads
        return self.built.warps * 32 if self.built and self.built.warps else None

    def occupancy(self, device: Device | None) -> Occupancy | None:
        """None where threads or registers are not known, and on a device whose limits are not."""
        if device is None or not self.threads or self.registers is None:
            return None
        found = occupancy(device.compute_capability, self.threads, self.registers, self.shared_bytes)
        if found is None or self.launch is None:
            return found
        return in_grid(found, self.launch.blocks, device.multiprocessor_count)


def kernels_of(measured: Measured) -> tuple[KernelFacts, ...]:
    """Those that the profiler saw, longest first, with what their compiler said; then others that were built.

    An older session knows the compiler's figures of the heaviest kernel only: where there is one kernel, they
    are its own.
    """
    build = measured.build
    built = list(build.kernels)
    if not built and build.registers is not None and len(measured.kernels) == 1:
        [only] = measured.kernels
        built = [BuiltKernel(only.name, build.registers, build.spill_bytes, build.shared_bytes)]
    found: list[KernelFacts] = []
    for kernel in measured.kernels:
        match = next((one for one in built if is_same_kernel(kernel.name, one.name)), None)
        if match:
            built.remove(match)
        found.append(KernelFacts(kernel.name, kernel, match))
    return (*found, *(KernelFacts(one.name, None, one) for one in built))


def built_kernels_of(build: BuildInfo) -> tuple[KernelFacts, ...]:
    """Of what was compiled and not run."""
    return tuple(KernelFacts(one.name, None, one) for one in build.kernels)


def is_same_kernel(profiled: str, built: str) -> bool:
    """The profiler may show a C++ name with its arguments: ``void softmax<float>(float const*)``."""
    return profiled == built or profiled.partition("(")[0].split("<")[0].split(" ")[-1] == built


def launch_sections(session: Session, point: Point) -> tuple[Section, ...]:
    """A section a kernel; empty where nothing is known of any."""
    match point.outcome:
        case Measured() as measured:
            device, kernels = session.device_of(point), kernels_of(measured)
        case Examined(build=BuildInfo() as build) as examined:
            gpu = gpu_of(examined.architecture)
            device, kernels = gpu.device if gpu else None, built_kernels_of(build)
        case _:
            return ()
    found = (_section(kernel, device) for kernel in kernels)
    return tuple(each for each in found if not each.is_empty)


def why_no_launch(point: Point) -> str:
    """Why nothing is known of a point's launches."""
    if isinstance(point.outcome, Examined):
        return "Its kernels were not compiled, so nothing is known of their launches."
    if point.measured is None:
        return "Only a measured point has launches."
    return "No profile of this point's kernels was recorded; on a CPU there are none."


def _section(kernel: KernelFacts, device: Device | None) -> Section:
    launch, built = kernel.launch, kernel.built
    static_bytes = (
        built.shared_bytes if built and not built.stages else None
    )  # Triton has dynamic memory only
    total_bytes = kernel.shared_bytes
    dynamic = total_bytes - static_bytes if total_bytes is not None and static_bytes is not None else None
    return section(
        _short(kernel.name),
        Fact("Time a call", time_text(kernel.profiled.total_s) if kernel.profiled else ""),
        Fact("Launches a call", f"{kernel.profiled.calls:g}" if kernel.profiled else ""),
        Fact("Grid", _extent(launch.grid, launch.blocks, "block") if launch else ""),
        Fact("Block", _extent(launch.block, launch.threads, "thread") if launch else ""),
        Fact("Cluster", _extent(built.cluster, None, "block") if built and built.cluster else ""),
        Fact("Warps a block", count_text(_warps(kernel))),
        Fact("Stages", count_text(built.stages) if built else "", "Of pipelined loops"),
        Fact(
            "Constants",
            _constants(built.constants) if built else "",
            "Compile-time arguments: the tile",
        ),
        Fact("Registers", count_text(kernel.registers), "A thread"),
        Fact("Spills", memory_text(built.spill_bytes) if built else "", "A thread; they go to local memory"),
        Fact("Shared memory", memory_text(total_bytes), "A block, declared and dynamic together"),
        Fact("of it dynamic", memory_text(dynamic) if dynamic and dynamic > 0 else ""),
        *_occupancy_facts(found := kernel.occupancy(device), launch),
        Fact("Not recorded", _unrecorded(kernel, found), "Older sessions have less of a launch"),
    )


def _unrecorded(kernel: KernelFacts, found: Occupancy | None) -> str:
    """What a reader looks for and does not find. A copy has no launch."""
    if kernel.name.startswith(("Memcpy ", "Memset ")):
        return ""
    figures: dict[str, object] = {
        "time": kernel.profiled or (kernel.launch and kernel.built and kernel.built.launch),
        "grid and block": kernel.launch,
        "registers": kernel.registers,
        "shared memory": kernel.shared_bytes,
        "occupancy": found or (kernel.launch and kernel.launch.occupancy),
    }
    missing = [name for name, figure in figures.items() if figure is None]
    return f"{', '.join(missing)}; measure it again" if missing else ""


def _occupancy_facts(found: Occupancy | None, launch: Launch | None) -> Iterable[Fact]:
    seen = percent_text(launch.occupancy) if launch and launch.occupancy else ""
    if found is None:
        return (Fact("Occupancy", seen, "As the profiler estimates it"),)
    return (
        Fact("Occupancy", occupancy_text(found), _OCCUPANCY_TIP),
        Fact("Limited by", limit_text(found)),
        Fact("Profiler's figure", seen, "Its estimate of the occupancy that was reached"),
    )


def occupancy_text(found: Occupancy) -> str:
    """``75 %: 6 blocks, 48 of 64 warps at once``."""
    blocks = f"{found.blocks} {'block' if found.blocks == 1 else 'blocks'}"
    return f"{percent_text(found.share)}: {blocks}, {found.warps} of {found.most_warps} warps at once"


def limit_text(found: Occupancy) -> str:
    """What keeps more blocks away; of causes that allow the same all are named."""
    if found.share == 1:
        return _CAUSES[Cause.WARPS]
    return " and ".join(_CAUSES[cause] if cause is not Cause.WARPS else "warps" for cause in found.causes)


def occupancy_fact(measured: Measured, device: Device | None) -> Fact:
    """Of the longest kernel, for the details; without a value where it is not known."""
    kernels = kernels_of(measured)
    found = kernels[0].occupancy(device) if kernels else None
    if found is None:
        return Fact("Occupancy", "")
    text = f"{percent_text(found.share)}, limited by {limit_text(found)}" if found.share < 1 else "100 %"
    return Fact("Occupancy", text, f"{_short(kernels[0].name)}: {occupancy_text(found)}")


def _warps(kernel: KernelFacts) -> int | None:
    return -(-kernel.threads // 32) if kernel.threads else None


def _extent(extent: tuple[int, int, int] | None, total: int | None, noun: str) -> str:
    """``256 x 1 x 1`` is written as 256; with the total where it is more than a line."""
    if extent is None:
        return f"{total} {noun}s" if total is not None else ""
    x, y, z = extent
    shape = f"{x}" if y == z == 1 else f"{x} × {y}" if z == 1 else f"{x} × {y} × {z}"
    count = x * y * z
    plural = "" if count == 1 else "s"
    return f"{shape} {noun}{plural}" if y == z == 1 else f"{shape} = {count} {noun}{plural}"


def _constants(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in pairs)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
