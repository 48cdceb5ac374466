"""Stories that somebody else wrote: bytes of one, changed, and what shows what is read of them."""

import random
import tempfile
from functools import cache
from pathlib import Path

from roofscope.app.presentation.lesson.check import check, goal_text
from roofscope.app.presentation.lesson.commands import commands
from roofscope.app.presentation.lesson.figures import story_view
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.story import NAME, StoryFault, read_story
from roofscope.tests.fuzz.mutate import changed_bytes
from roofscope.tests.sessions import make_session


def changed_story(chance: random.Random) -> bytes:
    return changed_bytes((LIBRARY / "softmax" / NAME).read_bytes(), chance)


def feed_story(data: bytes) -> str:
    (_folder() / NAME).write_bytes(data)
    try:
        story = read_story(_folder())
    except StoryFault:
        return ""
    session = make_session()
    commands(story)
    goal_text(story)
    check(story, session)
    view = story_view(story, session)
    return "" if len(view.steps) == len(story.steps) else "steps are lost"


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="roofscope-fuzz-"))
