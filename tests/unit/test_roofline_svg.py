"""The roofline as SVG: well-formed, text kept as text, every point and figure in it."""

import re
from subprocess import run
from xml.etree import ElementTree as ET

import msgspec
import pytest

from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, Range, build_scene
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.app.presentation.tokens import DARK, LIGHT, PROVIDER_COLOURS
from roofscope.profiling.results.session import Session
from roofscope.tests.children import python
from roofscope.tests.sessions import empty_session, make_session
from roofscope.tests.unit.test_chart_scene import make_unstable, session_with_copy

NAMESPACE = "{http://www.w3.org/2000/svg}"


def parsed(session: Session, **options: object) -> ET.Element:
    return ET.fromstring(roofline_svg(session, **options))  # type: ignore[arg-type]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{NAMESPACE}text")]


def markers(root: ET.Element) -> int:
    colours = set(PROVIDER_COLOURS.values())
    return sum(element.get("fill") in colours for element in root.iter())


def warnings(root: ET.Element) -> int:
    return sum(element.get("fill") == LIGHT.warning for element in root.iter(f"{NAMESPACE}circle"))


def test_every_point_is_a_marker_and_the_legend_names_every_provider() -> None:
    session = make_session()
    scene = build_scene(session, all_points(session))
    root = parsed(session)
    assert markers(root) == len(scene.points) + 4
    assert {"CUDA", "Triton", "Eager", "torch.compile"} <= set(texts(root))


def test_ceilings_hardware_and_versions_are_text() -> None:
    found = " | ".join(texts(parsed(make_session())))
    for wanted in (
        "Roofline of NVIDIA H200",
        "FP32 51.0 TFLOP/s, measured burst",
        "DRAM write 4.69 TB/s, measured burst",
        "Arithmetic intensity (FLOP/B)",
        "driver 580.159.03",
        "torch 2.11.0+cu130 · triton 3.6.0",
    ):
        assert wanted in found
    assert {"0.1", "1", "10", "100", "1 k"} <= set(texts(parsed(make_session())))


def test_the_size_is_the_one_asked_for_and_everything_stays_inside() -> None:
    root = parsed(make_session(full=True), size=(900, 600))
    assert (root.get("width"), root.get("height")) == ("900", "600")
    for element in root.iter():
        for name, most in (("x", 900), ("y", 600), ("cx", 900), ("cy", 600)):
            if value := element.get(name):
                assert 0 <= float(value) <= most


def test_dark_and_light_differ_in_colours_only() -> None:
    session = make_session()
    light, dark = roofline_svg(session), roofline_svg(session, dark=True)
    assert LIGHT.surface in light
    assert DARK.surface in dark
    without_colours = [re.sub(r"#[0-9a-fA-F]{6}", "#", svg) for svg in (light, dark)]
    assert without_colours[0] == without_colours[1]


def test_an_empty_session_says_what_to_do() -> None:
    root = parsed(empty_session())
    assert "No points yet. Tick kernels on the left and press Run (F5)." in texts(root)
    assert "Ceilings not measured yet" in texts(root)
    assert markers(root) == 0


def test_without_ceilings_the_points_are_still_there() -> None:
    session = make_session(ceilings=())
    root = parsed(session)
    assert "Ceilings not measured yet" in texts(root)
    assert markers(root) == len(all_points(session)) + 4


def test_names_with_special_characters_are_escaped() -> None:
    session = make_session()
    assert session.device is not None
    session.device = msgspec.structs.replace(session.device, name='<b>&"GPU"')
    assert 'Roofline of <b>&"GPU"' in texts(parsed(session))


def test_kernels_without_flops_are_on_the_strip() -> None:
    session = session_with_copy()
    root = parsed(session)
    assert "Bandwidth (B/s) of kernels without FLOPs" in texts(root)
    assert markers(root) == len(all_points(session)) + 4


def test_warnings_are_drawn_and_explained_on_chart_and_strip() -> None:
    session = session_with_copy()
    before = parsed(session)
    for kernel in ("softmax", "gelu"):
        make_unstable(session, kernel)
    root = parsed(session)
    assert warnings(root) == warnings(before) + 2
    assert any(f" {warnings(root)} with a warning (!)" in text for text in texts(root))


def test_a_zoomed_picture_leaves_out_what_is_outside() -> None:
    session = make_session()
    ranges = (Range(-0.5, 0.5), Range(12.0, 13.0))
    inside = [
        point
        for point in build_scene(session, all_points(session)).points
        if ranges[0].low <= point.x <= ranges[0].high and ranges[1].low <= point.y <= ranges[1].high
    ]
    assert 0 < len(inside) < len(all_points(session))
    assert markers(parsed(session, ranges=ranges)) == len(inside) + 4


@pytest.mark.parametrize("number", [3, 20])
def test_the_selected_point_shows_what_is_left_to_its_roof(number: int) -> None:
    session = make_session()
    found = [
        text for text in texts(parsed(session, options=ChartOptions(selected=number))) if "× to " in text
    ]
    assert len(found) == 1


def test_no_qt_is_needed() -> None:
    module = "roofscope.app.presentation.roofline.svg"
    code = f"import sys, {module}; print([m for m in sys.modules if m.startswith(('PySide6', 'torch'))])"
    assert run(python(code), capture_output=True, text=True, check=True).stdout == "[]\n"
