"""Whether a session's points do what an exercise asks for."""

from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.formatting import percent_text, size_and_fill_text, sizes_text
from roofscope.app.presentation.point_row import reason_text
from roofscope.app.presentation.verdict_text import ceiling_name
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.story import Story, is_own
from roofscope.profiling.results.outcome import Verification
from roofscope.profiling.results.session import Point, Session


class State(StrEnum):
    DONE = "done"
    NOT_YET = "not yet"
    NOT_TRIED = "not tried"  # the session has no implementation of the reader's


class Check(Struct, frozen=True):
    """``point``: the number of the one that was judged."""

    state: State
    sentence: str
    point: int | None = None

    @property
    def is_done(self) -> bool:
        return self.state is State.DONE


def goal_text(story: Story) -> str:
    """What the exercise asks for, in one sentence."""
    share = percent_text(story.exercise.fraction_of_roof)
    workload = f"{story.dtype.label}, {sizes_text(story.sizes)}"
    return (
        f"Done when a version of yours reaches {share} of its roof on a GPU ({workload}); "
        "without a GPU, when it is verified."
    )


def check(story: Story, session: Session) -> Check:
    """The best of the reader's own implementations against the goal.

    On a CPU it is enough that one is verified: measured there, or in Triton's interpreter.
    """
    mine = [
        point
        for point in session.points
        if point.implementation.kernel == story.kernel and is_own(point.implementation.stem)
    ]
    if not mine:
        return Check(
            State.NOT_TRIED,
            f"This session has no version of yours: write {story.kernel}/{story.exercise.stem} and run it.",
        )
    on_gpu = [point for point in mine if _is_on_gpu(session, point)]
    found = [_judged_on_gpu(story, session, point) for point in on_gpu]
    found += [_judged_without(story, point) for point in mine if point not in on_gpu]
    return next((one for one in found if one.is_done), found[-1])


def _is_on_gpu(session: Session, point: Point) -> bool:
    device = session.device_of(point)
    return point.measured is not None and device is not None and device.kind is not DeviceKind.CPU


def _judged_without(story: Story, point: Point) -> Check:
    name = one_line(point.label)
    if isinstance(getattr(point.outcome, "verification", None), Verification):
        share = percent_text(story.exercise.fraction_of_roof)
        return Check(
            State.DONE,
            f"{name} is verified. On a GPU the exercise goes on: {share} of its roof.",
            point.number,
        )
    return Check(State.NOT_YET, f"{name}: {_reason(point)}", point.number)


def _judged_on_gpu(story: Story, session: Session, point: Point) -> Check:
    name, asked = one_line(point.label), percent_text(story.exercise.fraction_of_roof)
    workload = point.job.workload
    if (workload.dtype, workload.sizes) != (story.dtype, story.sizes):
        wanted = f"{story.dtype.label}, {sizes_text(story.sizes)}"
        here = f"{workload.dtype.label}, {size_and_fill_text(workload)}"
        return Check(
            State.NOT_YET, f"{name} was measured at {here}; the exercise is at {wanted}.", point.number
        )
    judged = verdict(point, session)
    share = judged.fraction_of_roof
    if share is None or judged.limiter is None:
        message = f"{name} has no roof yet: measure the ceilings of this device (roofscope ceilings)."
        return Check(State.NOT_YET, message, point.number)
    reached = f"{name} is at {percent_text(share)} of the {ceiling_name(judged.limiter)} ceiling"
    if share >= story.exercise.fraction_of_roof:
        return Check(State.DONE, f"{reached}; the exercise asks for {asked}.", point.number)
    return Check(State.NOT_YET, f"{reached}, and the exercise asks for {asked}.", point.number)


def _reason(point: Point) -> str:
    reason = one_line(reason_text(point)) or "it was not verified"
    return reason if reason.endswith(".") else f"{reason}."
