"""A kernel's story: its steps from textbook to best, and an exercise; plain data beside the kernel, no code.

``story.toml`` in a kernel's folder names implementations and says what to learn from each. It holds no
figure: figures come from a session, lines from the implementation's own files.
"""

import re
from pathlib import Path
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.spec import Dtype, size_text
from roofscope.profiling.providers import provider_of

NAME = "story.toml"
STEPS = range(2, 6)
_LONGEST_TITLE, _LONGEST_TEXT = 80, 1200  # characters
_LARGEST_BYTES = 1 << 16
_STEM = re.compile(r"[a-z0-9_]{1,80}")
_LARGEST = 2**62


class StoryFault(ValueError):
    """A story cannot be used; the text is one sentence."""


class Lines(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the lines are that did it: found by what stands in them, because numbers of lines rot.

    From the first line that holds ``first`` to the next one that holds ``last``; both after the line that
    defines ``symbol``, where one is named.
    """

    first: str
    last: str = ""
    symbol: str = ""


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One implementation, what to learn from it, and the figure to look at (a column of the results)."""

    implementation: str  # its stem
    title: str
    lesson: str
    look: str = "Of roof"
    lines: Lines | None = None


class Exercise(Struct, frozen=True, forbid_unknown_fields=True):
    """What to do next. ``start`` is the implementation that a reader begins with, as a copy of its own."""

    task: str
    hint: str
    start: str
    fraction_of_roof: float

    @property
    def stem(self) -> str:
        """What the reader's own implementation is called: ``triton_mine``."""
        provider = provider_of(self.start) or self.start.partition("_")[0]
        return f"{provider}_{OWN}"


class Story(Struct, frozen=True, forbid_unknown_fields=True):
    """``order`` is its place on the way from first to last; ``dtype`` and ``sizes`` are its workload."""

    order: int
    title: str
    promise: str  # what a reader knows afterwards, in one sentence
    dtype: Dtype
    sizes: dict[str, int]
    steps: tuple[Step, ...]
    exercise: Exercise
    kernel: str = ""  # the folder's name

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.implementation for step in self.steps))

    @property
    def size_label(self) -> str:
        return size_text(self.sizes)


OWN = "mine"  # the variant of a reader's own implementation


def is_own(stem: str) -> bool:
    """Whether an implementation is a reader's own: ``triton_mine``, ``cuda_mine_packed``."""
    return OWN in stem.split("_")[1:]


def has_story(folder: Path) -> bool:
    try:
        return (folder / NAME).is_file()
    except OSError:
        return False


def read_story(folder: Path) -> Story:
    """The story in a kernel's folder, which is the user's own or trusted. Raises StoryFault."""
    name = f"{printable(folder.name)}/{NAME}"
    try:
        content = read_file(folder / NAME)
        if len(content) > _LARGEST_BYTES:
            raise FileFault(f"it has more than {_LARGEST_BYTES >> 10} KiB")
        return _story(content, folder.name)
    except (FileFault, ValueError) as error:
        raise StoryFault(f"{name} is left out: {one_line(str(error))[:300].rstrip('.')}.") from error
    except RecursionError:
        raise StoryFault(f"{name} is left out: it is nested too deep.") from None


def _story(content: bytes, kernel: str) -> Story:
    """Raises ValueError: of no UTF-8, of no TOML, of other fields or types, and of what is out of bounds."""
    import tomllib  # the window is there before the first story is read

    values = {**tomllib.loads(content.decode()), "kernel": kernel}
    try:
        story = msgspec.convert(_one_line_each(values), Story)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    if why := _why_unfit(story):
        raise ValueError(why)
    return story


def _one_line_each(value: Any) -> Any:
    """Texts that were broken for the file's width, as one line without characters that act."""
    if isinstance(value, str):
        return one_line(value)
    if _is_table(value):
        return {name: _one_line_each(each) for name, each in value.items()}
    return [_one_line_each(each) for each in value] if _is_list(value) else value


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _why_unfit(story: Story) -> str:
    if len(story.steps) not in STEPS:
        return f"it has {len(story.steps)} steps; write {STEPS.start} to {STEPS.stop - 1}"
    titles = [story.title, story.promise, *(step.title for step in story.steps)]
    texts = [story.exercise.task, story.exercise.hint, *(step.lesson for step in story.steps)]
    if not all([*titles, *texts]):
        return "a title or a text in it is empty"
    if any(len(text) > _LONGEST_TEXT for text in texts) or any(
        len(title) > 2 * _LONGEST_TITLE for title in titles
    ):
        return "a title or a text in it is too long"
    stems = [*story.stems, story.exercise.start]
    if odd := next((stem for stem in stems if not _STEM.fullmatch(stem)), None):
        return f"{odd!r} is no name of an implementation"
    if not all(0 <= size <= _LARGEST for size in story.sizes.values()):
        return "a size in it is negative or too large"
    if not 0 < story.exercise.fraction_of_roof <= 1:
        return "its exercise asks for no fraction of a roof between 0 and 1"
    return ""
