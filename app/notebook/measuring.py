"""``roofscope.measure`` and ``roofscope.compare``: one call from a script, a notebook, a prompt or a test.

Functions and arguments become a kernel's folder, which the same worker, referee and verification judge as any
other. What a function does to its process, it does to the worker's.
"""

import os
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from roofscope.app.notebook import workspace
from roofscope.app.notebook.arguments import ArgumentError, Arguments, arguments_of
from roofscope.app.notebook.result import Compared, Result
from roofscope.app.notebook.travelling import SourceError, call_name
from roofscope.app.notebook.workspace import PRESET, NoReference, Workspace
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.derivation import DeriveError
from roofscope.profiling.planning.plan import Job, PlanError, Quality, SizeChoice, plan_jobs
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import Ceilings, record

_OWNER = "ROOFSCOPE_MEASURED_BY"  # the process whose call this is, for those that it starts


class MeasureError(Exception):
    """Nothing was measured; the text is one sentence with what to do."""


def measure(
    function: Callable[..., Any],
    *args: Any,
    reference: Callable[..., Any] | str | None = None,
    tolerance: float | None = None,
    contents: bool = False,
    exact: bool = False,
    ceilings: bool = True,
    device: str = "",
    session: str | Path | None = None,
    **kwargs: Any,
) -> Result:
    """Verify and time ``function(*args, **kwargs)`` in a process of its own.

    Tensors are inputs: new ones of their shapes, types and strides, with random contents, or with their own
    where ``contents``. Everything else goes as it is. ``reference`` is what results are judged by: a function
    of the same arguments, or an expression of the parameters such as ``"torch.softmax(x, -1)"``;
    floating-point inputs come to it in float64. Without one a function of torch is judged by itself in
    float64. ``tolerance`` bounds norm(y - reference) / norm(reference). ``exact`` narrows the interval from
    1 % to 0.25 %. ``ceilings=False`` measures none where none are known. ``device``: the tensors' where it is
    "". ``session`` is a file to keep the result in.

    A function that is wrong or fails has a Result that says so. Raises MeasureError where there is none.
    """
    arguments = _arguments(function, args, kwargs, contents)
    options = _Options(reference, tolerance, contents, exact, ceilings, device, session)
    with _measured((function,), arguments, options) as (found, points):
        return Result(call_name(function), arguments.text(), found, points[0])


def compare(
    function: Callable[..., Any],
    baseline: Callable[..., Any],
    *args: Any,
    reference: Callable[..., Any] | str | None = None,
    tolerance: float | None = None,
    contents: bool = False,
    exact: bool = False,
    ceilings: bool = False,
    device: str = "",
    session: str | Path | None = None,
    **kwargs: Any,
) -> Compared:
    """Hold ``function`` against ``baseline``, timed in turn on the same inputs, so that drift cancels.

    As ``measure``; without a ``reference`` the baseline in float64 judges both.
    """
    arguments = _arguments(function, args, kwargs, contents)
    options = _Options(
        baseline if reference is None else reference, tolerance, contents, exact, ceilings, device, session
    )
    with _measured((function, baseline), arguments, options) as (found, points):
        names = [call_name(function), call_name(baseline)]
        if names[0] == names[1]:
            names[1] = f"{names[1]} (baseline)"
        results = [
            Result(name, arguments.text(), found, one) for name, one in zip(names, points, strict=True)
        ]
        return Compared(*results)


class _Options:
    def __init__(
        self,
        reference: Callable[..., Any] | str | None,
        tolerance: float | None,
        contents: bool,
        exact: bool,
        ceilings: bool,
        device: str,
        session: str | Path | None,
    ) -> None:
        self.reference = reference
        self.tolerance = tolerance
        self.contents = contents
        self.quality = Quality.EXACT if exact else Quality.QUICK
        self.ceilings = ceilings
        self.device = device
        self.session = Path(session) if session else None


def _arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], contents: bool
) -> Arguments:
    if not callable(function):
        raise MeasureError(f"What is measured must be a function; this is a {type(function).__name__}.")
    if os.environ.get(_OWNER, str(os.getpid())) != str(os.getpid()):
        raise MeasureError(
            "A module that is being measured measures in its turn when it is imported; put the call under "
            'if __name__ == "__main__".'
        )
    try:
        return arguments_of(function, args, kwargs, keeps_contents=contents)
    except ArgumentError as error:
        raise MeasureError(str(error)) from None


@contextmanager
def _measured(
    functions: tuple[Callable[..., Any], ...], arguments: Arguments, options: _Options
) -> Generator[tuple[Session, list[Point]]]:
    """The session and the functions' points; what was written for it is gone afterwards."""
    device = _device(options.device or arguments.device)
    with tempfile.TemporaryDirectory(prefix="roofscope-measure-") as folder, _owned():
        root = Path(folder)
        try:
            place = workspace.write(
                root,
                functions,
                options.reference,
                arguments,
                options.tolerance,
                keeps_contents=options.contents,
            )
        except (SourceError, NoReference, DeriveError) as error:
            raise MeasureError(str(error)) from None
        path = options.session or root / "measured.roofscope"
        yield _recorded(place, device, arguments, options, path)


def _recorded(
    place: Workspace, device: Device, arguments: Arguments, options: _Options, path: Path
) -> tuple[Session, list[Point]]:
    catalog = scan((LIBRARY, place.folder))
    kernel = catalog.kernel(place.spec.name)
    if kernel is None or kernel.folder != place.folder:
        why = " ".join(one.message for one in catalog.problems if str(place.folder) in one.path)
        raise MeasureError(f"The kernel that was made of the function cannot be used: {why}")
    said: list[str] = []

    def watch(report: object, _: object) -> None:
        text = getattr(report, "text", "")
        if text:
            said.append(str(text))

    try:
        jobs = plan_jobs(
            [kernel],
            device=device.id,
            dtypes=[arguments.dtype],
            size_choices=[SizeChoice(PRESET, {})],
            stems=place.stems,
            quality=options.quality,
        )
        ending = record(
            path,
            catalog,
            device,
            [Run(_in_order(job, place)) for job in jobs],
            watch,
            CeilingCache(said.append),
            kernel_roots=[place.folder],
            ceilings=Ceilings.KEEP if options.ceilings else Ceilings.LEAVE,
        )
        session = load(ending.path) if ending.path else None
    except (PlanError, SessionError) as error:
        raise MeasureError(str(error)) from None
    if ending.was_stopped:
        raise KeyboardInterrupt
    if session is None or ending.busy or ending.unusable:
        raise MeasureError(ending.busy or ending.unusable or " ".join(said) or "The worker gave no result.")
    by_stem = {point.implementation.stem: point for point in session.points}
    if missing := [stem for stem in place.stems if stem not in by_stem]:
        raise MeasureError(" ".join(said) or f"The worker gave no result for {', '.join(missing)}.")
    return session, [by_stem[stem] for stem in place.stems]


def _in_order(job: Job, place: Workspace) -> Job:
    """The function first, whatever order the folder has."""
    ordered = sorted(job.implementations, key=lambda one: place.stems.index(one.stem))
    return replace(job, implementations=tuple(ordered))


def _device(name: str) -> Device:
    """By the name that torch has for it; the best one where there is none."""
    devices = local_devices()
    if not name:
        return default_device(devices)
    wanted = "cuda:0" if name == "cuda" else name
    found = next((device for device in devices if device.id == wanted), None)
    if found is None:
        known = ", ".join(device.id for device in devices)
        raise MeasureError(f"There is no device {name!r} that Roofscope can measure on; there are {known}.")
    return found


@contextmanager
def _owned() -> Generator[None]:
    """Says to the processes that are started meanwhile whose call it is."""
    before = os.environ.get(_OWNER)
    os.environ[_OWNER] = str(os.getpid())
    try:
        yield
    finally:
        if before is None:
            del os.environ[_OWNER]
        else:
            os.environ[_OWNER] = before
