"""Badges: each flag has a short word and a sentence."""

import pytest

from roofscope.app.presentation.flag_text import badge, flags_tip
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.results.outcome import Flag


@pytest.mark.parametrize("flag", list(Flag))
def test_each_flag_is_a_short_word_with_a_sentence(flag: Flag):
    found = badge(flag)
    assert 0 < len(found.text) <= 16
    assert found.meaning.endswith(".")
    assert found.is_warning == (flag in WARNING_FLAGS)
    assert flags_tip([flag]) == f"{flag}: {found.meaning}"


def test_no_two_badges_are_alike():
    assert len({badge(flag).text for flag in Flag}) == len(Flag)
