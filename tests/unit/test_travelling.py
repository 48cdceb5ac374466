"""Functions travel to another process as source, with all that they name."""

import functools
import importlib.util
import linecache
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofscope.app.notebook.travelling import SUBJECT, Luggage, SourceError, call_name

FACTOR = 3
TABLE = {"a": [1, 2.5], "b": (None, True)}
NOT_A_NUMBER = float("nan")


def tripled(x: float) -> float:
    return helper(x) + TABLE["a"][0]


def helper(x: float, factor: int = FACTOR) -> float:
    return x * factor if x else tripled(1)  # each names the other


class Scale:
    by = FACTOR

    def __call__(self, x: float) -> float:
        return x * self.by


def scaled(x: float) -> float:
    return Scale()(x)


def twice(function: Callable[[float], float]) -> Callable[[float], float]:
    @functools.wraps(function)
    def call(x: float) -> float:
        return 2 * function(x)

    return call


@twice
def decorated(x: float) -> float:
    return math.sqrt(x)


def not_a_number(x: float) -> float:
    return x + NOT_A_NUMBER


def within(factor: float) -> Callable[[float], float]:
    def inner(x: float) -> float:
        return x * factor

    return inner


def arrived(tmp_path: Path, function: Callable[..., Any]) -> Any:
    """The function as another process has it: from the file alone."""
    luggage = Luggage()
    luggage.pack(SUBJECT, function)
    path = tmp_path / "eager.py"
    path.write_text(luggage.text("From a test.", tmp_path, "eager"))
    found = importlib.util.spec_from_file_location("arrived", path)
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return getattr(module, SUBJECT)


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        (tripled, 2, 7),
        (scaled, 2, 6),
        (decorated, 9.0, 6.0),
        (within(5), 2, 10),
        (lambda x: x + FACTOR, 2, 5),
        (functools.partial(pow, 2), 5, 32),
        (math.sqrt, 4.0, 2.0),
    ],
    ids=["functions", "class", "decorator", "closure", "lambda", "partial", "builtin"],
)
def test_it_computes_the_same(tmp_path: Path, function: Callable[..., Any], x: float, y: float) -> None:
    there = arrived(tmp_path, function)
    assert there is not function or function is math.sqrt
    assert there(x) == y


def test_a_wrapper_that_the_source_does_not_show_is_refused() -> None:
    with pytest.raises(SourceError, match="tripled is wrapped by something that its source does not show"):
        Luggage().pack(SUBJECT, twice(tripled))


def test_a_second_wrapper_is_seen_beside_a_decorator() -> None:
    with pytest.raises(SourceError, match="decorated is wrapped"):
        Luggage().pack(SUBJECT, twice(decorated))


def test_what_has_no_text_goes_beside_it(tmp_path: Path) -> None:
    assert math.isnan(arrived(tmp_path, not_a_number)(1.0))
    assert [path.name for path in tmp_path.glob("*.pickle")] == ["eager_values.pickle"]


def test_a_cell_of_a_notebook_is_read_as_the_notebook_keeps_it(tmp_path: Path) -> None:
    source = "import math\nK = 4\ndef f(x):\n    return math.floor(x) * K\n"
    linecache.cache["<cell 7>"] = (len(source), None, source.splitlines(keepends=True), "<cell 7>")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell 7>", "exec"), names)  # noqa: S102 - as a notebook does
    assert arrived(tmp_path, names["f"])(2.7) == 8


def test_a_function_without_source_is_one_sentence() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("def typed(x):\n    return x\n", names)  # noqa: S102 - as a prompt does
    with pytest.raises(SourceError, match="The source of typed cannot be had; define it in a file or in a"):
        Luggage().pack(SUBJECT, names["typed"])


def test_two_things_of_one_name_are_one_sentence() -> None:
    luggage = Luggage()
    luggage.pack("factor", 1)
    luggage.pack("factor", 1)
    with pytest.raises(SourceError, match="Two different things named 'factor'"):
        luggage.pack("factor", 2)


def test_what_cannot_be_sent_is_one_sentence(tmp_path: Path) -> None:
    luggage = Luggage()
    luggage.pack("lock", threading.Lock())
    with pytest.raises(SourceError, match="'lock', which the function uses, cannot be sent"):
        luggage.text("", tmp_path, "eager")


def test_names_are_those_of_folders() -> None:
    assert call_name(tripled) == "tripled"
    assert call_name(lambda x: x) == "lambda"
    assert call_name(Scale()) == "scale"
