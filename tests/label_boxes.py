"""Where labels of a chart stand, for tests that none covers another."""

from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.point_labels import PointLabel


def label_box(label: PointLabel, view: View, font: Font) -> Box:
    """Where a placed label stands in a view."""
    return label.box(view, font)
