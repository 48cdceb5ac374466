"""All stories of a catalog in their order, and the shipped session that knows most of each."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from roofscope.app.presentation.lesson.figures import StoryView, story_view, why_unknown_figure
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.planning.story import Story, StoryFault, has_story, read_story
from roofscope.profiling.results.session import Session


class Shelved(NamedTuple):
    story: Story
    kernel: Kernel


class Shelf(NamedTuple):
    """Stories from the first to the last, and a sentence for each that is left out."""

    stories: tuple[Shelved, ...]
    problems: tuple[str, ...]

    def of(self, kernel: str) -> Shelved | None:
        return next((one for one in self.stories if one.story.kernel == kernel), None)

    def number(self, story: Story) -> int:
        """Its place, from 1."""
        return [one.story.kernel for one in self.stories].index(story.kernel) + 1


def shelf_of(kernels: Iterable[Kernel]) -> Shelf:
    """Reads files: not for the window's thread."""
    found: list[Shelved] = []
    problems: list[str] = []
    for kernel in kernels:
        if kernel.form or not has_story(kernel.folder):
            continue
        try:
            story = read_story(kernel.folder)
        except StoryFault as fault:
            problems.append(str(fault))
            continue
        if why := why_unfit(story, kernel):
            problems.append(why)
        else:
            found.append(Shelved(story, kernel))
    found.sort(key=lambda one: (one.story.order, one.story.kernel))
    return Shelf(tuple(found), tuple(problems))


def why_unfit(story: Story, kernel: Kernel) -> str:
    """A sentence about what the kernel does not have; "" where the story fits it."""
    stems = {found.stem for found in kernel.implementations}
    for stem in (*story.stems, story.exercise.start):
        if stem not in stems:
            return f"{story.kernel}/story.toml is left out: {story.kernel} has no version {stem}."
    if problem := kernel.spec.problem_with(story.sizes):
        return f"{story.kernel}/story.toml is left out: {problem}"
    return why_unknown_figure(story)


def best_view(one: Shelved, sessions: Sequence[Session]) -> tuple[StoryView, Session | None]:
    """Beside the session in which most of the story's steps have a time.

    Of equals at its own workload, then one whose ceilings were measured, so that roofs are no data sheet's.
    """
    views = [(story_view(one.story, session, one.kernel), session) for session in sessions]
    own = Workload(one.story.kernel, one.story.dtype, one.story.sizes)

    def fitness(pair: tuple[StoryView, Session]) -> tuple[int, bool, bool]:
        view, session = pair
        return view.measured_count, view.workload == own, any(c.source.is_measured for c in session.ceilings)

    found = max(views, key=fitness, default=None)
    if found is None or found[0].workload is None:
        return story_view(one.story, None, one.kernel), None
    return found
