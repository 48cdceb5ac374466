"""Colours must be readable on both themes, also for those who do not see all of them."""

import pytest

from roofscope.app.presentation.tokens import DARK, LIGHT, PROVIDER_COLOURS, PROVIDER_MARKERS, Theme
from roofscope.profiling.planning.spec import Provider
from roofscope.tests.contrast import contrast


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
    for provider in Provider:
        assert contrast(theme.provider(provider), theme.surface) >= 3, provider


def test_every_provider_has_its_own_colour_and_marker() -> None:
    assert len(set(PROVIDER_COLOURS.values())) == len(Provider)
    assert len(set(PROVIDER_MARKERS.values())) == len(Provider)


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
