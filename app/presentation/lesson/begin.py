"""A folder to begin an exercise in: the kernel, and copies of its versions under the reader's own name."""

from collections.abc import Mapping
from pathlib import Path

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.kernel_files import read_folder
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.planning.story import OWN, Story
from roofscope.profiling.providers import VARIANT

_ALWAYS = ("spec.py", "reference.py", "eager.py")


def begin(story: Story, kernel: Kernel, folder: Path) -> tuple[Path, ...]:
    """Write ``folder/<kernel>`` and return the files that the reader edits. Raises OSError, FileFault too.

    ``eager_mine.py``, a copy of the eager version, is there for those without a GPU.
    """
    target = folder / story.kernel
    contents = read_folder(kernel.folder).contents
    own = _own_files(story, contents)
    kept = {name: text for name, text in contents.items() if name in _ALWAYS or _is_helper(name)}
    target.mkdir(parents=True)  # never over what is there
    for name, content in {**kept, **own}.items():
        (target / name).write_bytes(content)
    return tuple(target / name for name in own)


def _own_files(story: Story, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """By name. The first is what the exercise begins with."""
    start, mine = story.exercise.start, story.exercise.stem
    names = [name for name in contents if Path(name).stem == start]
    found = {f"{mine}{Path(name).suffix}": contents[name] for name in names}
    return {**found, f"{Provider.EAGER}_{OWN}.py": contents["eager.py"]}


def _is_helper(name: str) -> bool:
    return not (VARIANT.fullmatch(Path(name).stem) or name in (*_ALWAYS, "autograd.py"))
