"""Colours must be readable on both themes, also for those who do not see all of them."""

from itertools import combinations

import pytest

from roofscope.app.presentation.tokens import (
    CONTRAST,
    DARK,
    LIGHT,
    MARKER_CORNERS,
    PROVIDER_COLOURS,
    PROVIDER_MARKERS,
    Theme,
    Tone,
)
from roofscope.profiling.providers import Hue, Marker, Provider
from roofscope.tests.contrast import SIGHTS, contrast, distance


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_has_enough_contrast(theme: Theme) -> None:
    for ground in (theme.window, theme.surface, theme.raised, theme.attainable):
        for text in (theme.text, theme.text_muted, theme.good, theme.warning, theme.bad, theme.accent):
            assert contrast(text, ground) >= 4.5, (text, ground)
    assert contrast(theme.on_accent, theme.accent) >= 4.5
    assert contrast(theme.text, theme.selected_row) >= 4.5
    assert contrast(theme.text, theme.hover) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_markers_have_enough_contrast(theme: Theme) -> None:
    for hue in Hue:
        assert contrast(theme.shade(hue), theme.surface) >= 3, hue


def test_high_contrast_has_text_of_7_and_marks_of_4_and_a_half() -> None:
    for ground in (CONTRAST.window, CONTRAST.surface, CONTRAST.raised, CONTRAST.attainable):
        for text in (CONTRAST.text, CONTRAST.text_muted, CONTRAST.good, CONTRAST.warning, CONTRAST.bad):
            assert contrast(text, ground) >= 7, (text, ground)
        marks = [CONTRAST.shade(hue) for hue in Hue]
        for mark in (*marks, CONTRAST.roof, CONTRAST.roof_dim, CONTRAST.axis, CONTRAST.border):
            assert contrast(mark, ground) >= 4.5, (mark, ground)
    for text, ground in (
        (CONTRAST.on_accent, CONTRAST.accent),
        (CONTRAST.text, CONTRAST.selected_row),
        (CONTRAST.text, CONTRAST.hover),
    ):
        assert contrast(text, ground) >= 7, (text, ground)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_lines_of_ceilings_and_their_names_have_enough_contrast(theme: Theme) -> None:
    for tone in Tone:
        assert contrast(theme.tone(tone), theme.surface) >= 3, tone
        assert contrast(theme.tone_text(tone), theme.surface) >= 4.5, tone


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_providers_stay_apart_for_those_who_do_not_see_all_colours(theme: Theme) -> None:
    for sight in SIGHTS:
        for one, other in combinations(Hue, 2):
            assert distance(theme.shade(one), theme.shade(other), sight) >= 17, (sight, one, other)


def test_on_dark_ground_markers_stand_out() -> None:
    for hue in Hue:
        assert contrast(DARK.shade(hue), DARK.surface) >= 4, hue


def test_every_provider_has_its_own_colour_and_marker() -> None:
    assert len(set(PROVIDER_COLOURS.values())) == len(Provider)
    assert len(set(PROVIDER_MARKERS.values())) == len(Provider)
    assert set(MARKER_CORNERS) == set(Marker)


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
