"""What stands behind a point: its files, their lesson, what they can be compared with."""

from msgspec.structs import replace

from roofscope.app.presentation.source.lesson import lesson_of
from roofscope.app.presentation.source.others import others_of
from roofscope.app.presentation.source.texts import (
    MOST_CHARACTERS,
    Language,
    files_of,
    shown_text,
    why_no_files,
)
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load

SESSION = load(ASSETS / "sessions" / "h200.roofscope")
GELU = load(ASSETS / "sessions" / "h200-gelu.roofscope")


def point_of(key: str) -> Point:
    return next(point for point in SESSION.points if point.implementation.key == key)


def test_a_kernel_comes_before_its_launcher() -> None:
    files = files_of(SESSION, point_of("softmax/cuda_cluster"))
    assert [file.name for file in files] == ["cuda_cluster.cu", "cuda_cluster.py"]
    assert [file.language for file in files] == [Language.CUDA, Language.PYTHON]


def test_every_recorded_point_has_its_files_and_they_say_something_of_themselves() -> None:
    for session in (SESSION, GELU):
        for point in session.points:
            files = files_of(session, point)
            assert files, point.implementation.key
            assert lesson_of(files).summary, point.implementation.key


def test_a_point_whose_files_were_not_kept_says_so() -> None:
    point = SESSION.points[0]
    other = replace(point, implementation=replace(point.implementation, source_hash="another"))
    assert files_of(SESSION, other) == ()
    assert "did not keep the files of vector_add / eager PyTorch" in why_no_files(SESSION, other)
    assert why_no_files(SESSION, point) == ""


def test_a_hostile_text_is_shown_and_does_nothing() -> None:
    text = shown_text("a\x1b[31m.py", "x = 1\x1b[2J\u202e\r\n\ty", None)
    assert text.name == "a\\x1b[31m.py"
    assert text.lines == ["x = 1\\x1b[2J\\u202e", "    y"]
    long = shown_text("a.py", "x" * (2 * MOST_CHARACTERS))
    assert len(long.text) < MOST_CHARACTERS + 100
    assert long.text.endswith("[cut here: the text is longer than what is shown]")


def test_the_lesson_comes_first_where_there_is_one() -> None:
    text = '"""A sum.\n\nFormula: n FLOP\nand more.\nLesson: one row is one block.\nIdea: mine.\n"""'
    lesson = lesson_of([shown_text("a.py", text)])
    assert lesson.paragraphs == (
        "Lesson: one row is one block.",
        "A sum.",
        "Idea: mine.",
        "Formula: n FLOP and more.",
    )


def test_a_file_that_does_not_compile_still_has_its_docstring() -> None:
    assert lesson_of([shown_text("a.py", '"""What it is."""\ndef run(:\n')]).summary == "What it is."


def test_a_head_comment_is_read_of_either_kind() -> None:
    slashes = "\n// One\n//   line.\n// Idea: mine.\n#include <x>\n// not this"
    stars = "/* One\n * line.\n * Idea: mine. */\nint x;"
    for text in (slashes, stars):
        lesson = lesson_of([shown_text("a.cu", text)])
        assert (lesson.summary, lesson.parts) == ("One line.", (("Idea", "mine."),))
    assert lesson_of([shown_text("a.cu", "int x;"), shown_text("a.py", "x = 1")]).is_empty


def test_edits_come_before_other_implementations() -> None:
    point = point_of("softmax/triton_online")
    edited = replace(point, number=1000, implementation=replace(point.implementation, source_hash="new"))
    session = replace_points(SESSION, (*SESSION.points, edited))
    others = others_of(session, edited)
    newest = max(
        one.number
        for one in SESSION.points
        if one.implementation == point.implementation and one.job.workload == point.job.workload
    )
    assert others[0].point.number == newest
    assert others[0].label.startswith("earlier edit, 20")
    keys = [other.point.implementation.key for other in others[1:]]
    assert set(keys) == {
        one.implementation.key
        for one in SESSION.points
        if one.implementation.kernel == "softmax" and one.implementation.key != "softmax/triton_online"
    }
    assert all(
        other.point.job.workload == point.job.workload
        for other in others[1:]
        if any(
            one.implementation.key == other.point.implementation.key
            and one.job.workload == point.job.workload
            for one in SESSION.points
        )
    )
    assert others_of(session, point)[0].label.startswith("later edit")


def replace_points(session: Session, points: tuple[Point, ...]) -> Session:
    return type(session)(session.path, session.created_at, points=points, sources=session.sources)
