"""Two points beside each other, as they were measured or measured again in turn."""

from pathlib import Path

from msgspec.structs import replace

from roofscope.app.agents.answering import IN_TURN
from roofscope.app.agents.answers import CompareAnswer
from roofscope.app.agents.control import Control
from roofscope.app.agents.looking import compared, point_numbered
from roofscope.app.agents.own_file import write_own
from roofscope.app.agents.requests import AgentFault, CompareRequest
from roofscope.app.agents.workbench import Workbench, own_stems
from roofscope.profiling.planning.kernel_files import FileFault, read_file
from roofscope.profiling.planning.one_file.form import ENDING, Form, FormFault, form_text, is_form, read_form
from roofscope.profiling.planning.one_file.parts import called
from roofscope.profiling.results.session import Point


def compare(bench: Workbench, request: CompareRequest, control: Control) -> CompareAnswer:
    """Raises AgentFault."""
    if not request.in_turn:
        return compared(bench.session(), request.a, request.b)
    with bench.working(control), control.ended_after(request.deadline_s):
        session = bench.session()
        a, b = point_numbered(session, request.a), point_numbered(session, request.b)
        if a is b:
            raise AgentFault(f"Point {a.number} cannot be compared with itself; name another one.")
        form = _joined(bench, a, b)
        catalog, kernel = bench.kernel(form, control)
        found = bench.run(catalog, kernel, own_stems(kernel), control, request, has_ceilings=False)
        problem = control.why_stopped
        by_stem = {point.implementation.stem: point for point in found.points}
        if len(by_stem) < 2:
            raise AgentFault(problem or " ".join(control.notices) or "The worker gave no result.")
        first, second = (by_stem[stem] for stem in own_stems(kernel))
        answer = compared(found.session, first.number, second.number)
        return replace(answer, notices=tuple(control.notices), problem=problem)


def _joined(bench: Workbench, a: Point, b: Point) -> Path:
    """A form of both versions, as they were when they were measured. Raises AgentFault."""
    folder = bench.folder / "in_turn" / f"{a.number}_{b.number}"
    forms: list[Form] = []
    calls: list[str] = []
    helpers: dict[str, bytes] = {}
    try:
        for point in (a, b):
            form, files = _version(bench, point)
            source = Path(form.file)
            name = f"{source.stem}_{point.number}{source.suffix}"
            write_own(folder / name, files.pop(form.file))
            for helper, content in files.items():
                if helpers.setdefault(helper, content) != content:
                    raise AgentFault(
                        f"Points {a.number} and {b.number} use different contents of {helper}, so that they "
                        "cannot be loaded beside each other; compare them as they were measured."
                    )
                write_own(folder / helper, content)
            forms.append(form)
            calls.append(f"{name}:{_call_of(form, point)}")
        one, other = forms
        if _work(one) != _work(other):
            raise AgentFault(
                f"Points {a.number} and {b.number} differ in reference, inputs, outputs or launch, so that "
                "no job can hold both; compare them as they were measured."
            )
        first, _, call = calls[0].partition(":")
        joined = replace(one, file=first, call=(call, calls[1]))
        path = folder / f"{IN_TURN}{a.number}_{b.number}{ENDING}"
        write_own(path, form_text(joined).encode())
    except OSError as error:
        raise AgentFault(f"The versions cannot be laid beside each other: {error}.") from error
    return path


def _version(bench: Workbench, point: Point) -> tuple[Form, dict[str, bytes]]:
    """The form that a point was measured by and the files that ran, by name. Raises AgentFault."""
    folder = bench.version(point.number)
    try:
        files = {path.name: read_file(path) for path in folder.iterdir()}
        (name,) = filter(lambda one: is_form(Path(one)), files)
        form = read_form(folder / name)
        del files[name]
        _ = files[form.file]
    except (OSError, FileFault, FormFault, ValueError, KeyError) as error:
        raise AgentFault(
            f"The files of point {point.number} were not kept, as only those of measure_file are; measure it "
            "again, or compare without in_turn."
        ) from error
    return form, files


def _call_of(form: Form, point: Point) -> str:
    """Of several calls that of this point's function."""
    variant = point.implementation.variant
    return next((call for call in form.calls if called(call).lower() == variant), form.calls[0])


def _work(form: Form) -> tuple[object, ...]:
    return (
        *(form.reference, form.sizes, form.inputs, form.outputs, form.dtypes),
        *(form.grid, form.block, form.shared_bytes),
    )
