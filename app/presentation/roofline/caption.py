"""The words round a roofline: title, legend and foot, the same on the screen and in files."""

from roofscope.app.presentation.formatting import counted_text, memory_text, power_text
from roofscope.app.presentation.roofline.scene import ChartScene, Target
from roofscope.app.presentation.verdict_text import distance_text
from roofscope.profiling.analysis.point_record import VERSIONED_PACKAGES
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Session, version

INTENSITY_TITLE = "Arithmetic intensity (FLOP/B)"
RATE_TITLE = "Performance (FLOP/s)"
STRIP_TITLE = "Bandwidth (B/s) of kernels without FLOPs"
ROOF_TITLE = "Fraction of roof"
EMPTY_TEXT = "No points yet. Tick kernels on the left and press Run (F5)."
RUNNING_TEXT = "A run is under way; its points appear here as they come."
FILTERED_TEXT = "The filter hides every point. Press Esc to show all."
UNTIMED_TEXT = "No point has a time; the results say why."
NO_CEILINGS_TEXT = "Ceilings not measured yet"


def title_text(session: Session) -> str:
    return f"Roofline of {device_text(session)}" if session.device else "Roofline"


def device_text(session: Session) -> str:
    """The device that is shown, with its id where the session has others; "" where it is not known."""
    device = session.device
    if device is None:
        return ""
    return f"{device.name} ({device.id})" if len(session.devices) > 1 else device.name


def empty_text(scene: ChartScene, *, is_running: bool = False) -> str:
    """What a chart without points says to do next."""
    if scene.hidden_count:
        return FILTERED_TEXT
    if is_running:
        return RUNNING_TEXT
    if scene.untimed_count:
        return UNTIMED_TEXT
    return proofs_text(scene.proof_count) or EMPTY_TEXT


def proofs_text(count: int) -> str:
    """What a session that holds proofs and no points says; "" where there are none."""
    return f"No points, but {counted_text(count, 'proof')}: Help > Doctor (F8), Proofs." if count else ""


def count_line(scene: ChartScene) -> str:
    """Such as ``38 points drawn, 2 with a warning (!), 3 without a time``."""
    parts = [f"{counted_text(len(scene.points) + len(scene.strip), 'point')} drawn"]
    if scene.warned_count:
        parts.append(f"{scene.warned_count} with a warning (!)")
    if scene.ghosts:
        parts.append(f"{len(scene.ghosts)} earlier")
    if scene.hidden_count:
        parts.append(f"{scene.hidden_count} filtered out")
    if scene.untimed_count:
        parts.append(f"{scene.untimed_count} without a time")
    if scene.unroofed_count:
        parts.append(f"{scene.unroofed_count} without a roof")
    return ", ".join(parts)


def target_text(target: Target) -> str:
    """What is left between the selected point and its roof."""
    return distance_text(target.verdict)


def providers_of(scene: ChartScene) -> tuple[Provider, ...]:
    """Providers with a point, in the order of the legend."""
    present = {point.provider for point in (*scene.points, *scene.strip)}
    return tuple(provider for provider in Provider if provider in present)


def rate_title(scene: ChartScene) -> str:
    """What the height of a point is."""
    return ROOF_TITLE if scene.is_of_roof else RATE_TITLE


def foot_parts(session: Session) -> tuple[list[str], list[str]]:
    """Hardware and versions, so that a picture stands for itself."""
    device, environment = session.device, session.environment
    hardware: list[str] = []
    if device:
        hardware.append(device_text(session))
        if device.driver_version:
            hardware.append(f"driver {device.driver_version}")
        if device.memory_bytes:
            hardware.append(memory_text(device.memory_bytes))
        if device.power_limit_w:
            hardware.append(f"power limit {power_text(device.power_limit_w)}")
    software = [
        f"{package} {found}" for package in VERSIONED_PACKAGES if (found := version(session, package))
    ]
    if environment:
        software = [f"Python {environment.python}", *software, environment.operating_system]
    numbers = {point.origin for point in session.points if session.is_shown(point)}
    if len({origin.setup for origin in map(session.origin, numbers) if origin}) > 1:
        software.append("some points with another driver, power limit or torch")
    return hardware, software


def summary(scene: ChartScene, session: Session, *, is_running: bool = False) -> str:
    """For a screen reader: what a glance at the chart tells."""
    if scene.is_empty:
        return empty_text(scene, is_running=is_running)
    kernels = ", ".join(scene.kernels)
    ceilings = sum(line.is_main for line in scene.lines)
    return f"{title_text(session)}: {count_line(scene)}; kernels {kernels}; " + (
        f"{ceilings} ceilings." if ceilings else f"{NO_CEILINGS_TEXT}."
    )
