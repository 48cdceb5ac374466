"""The long fuzz on another machine: it needs no test runner there, and processes share its inputs."""

import subprocess
import sys

import pytest

from roofscope.tests.fuzz import runner
from roofscope.tests.fuzz.runner import DIFFERENT, Tally, in_shards, table

WITHOUT_TEST_RUNNERS = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "pytestqt", "hypothesis")))
import roofscope.tests.fuzz.__main__, roofscope.tests.qt.stand_ins
"""


def test_shards_are_the_same_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    def feed(name: str, seed: int, first: int, count: int, seconds: float) -> Tally:
        assert (name, seed, seconds) == ("lines", 7, 60.0)
        fed.extend(range(first, first + count))
        return Tally(name, inputs=count, unnamed=1, findings={"a kind": (1, f"{seed}:{name}:{first}")})

    monkeypatch.setattr(runner, "in_processes", feed)
    total = in_shards("lines", 7, 100, 10, 60.0, processes=3)
    assert sorted(fed) == list(range(100, 110))
    assert (total.inputs, total.unnamed, total.findings) == (10, 3, {"a kind": (3, "7:lines:100")})
    assert in_shards("lines", 7, 0, 2, 60.0, processes=5).inputs == 2  # more processes than inputs


def test_what_reads_differently_has_a_column_of_its_own() -> None:
    tally = Tally(
        "session bytes", inputs=9, wrong=3, findings={DIFFERENT: (2, "1:x:4"), "no PNG": (1, "1:x:5")}
    )
    heads, figures = table([tally], with_findings=False).splitlines()
    assert heads.split()[-4:] == ["differing", "else", "wrong", "slowest"]
    assert figures.split() == ["session", "bytes", "9", "0", "0", "0", "2", "1", "0.00", "s"]
    assert DIFFERENT in table([tally])


def test_it_needs_no_test_runner() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_TEST_RUNNERS], check=True, timeout=120)
