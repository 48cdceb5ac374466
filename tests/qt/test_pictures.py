"""What pictures of the window show: shipped sessions, filled panes, and no invented figures of a device."""

from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS
from roofscope.tests import pictures
from roofscope.tests.qt.conftest import OpenWindow


def test_each_pane_that_only_some_points_fill_is_hung_filled(open_window: OpenWindow) -> None:
    hung = {title: each for each in pictures.GALLERY for title in each.panes}
    assert set(hung) == {"Parameters", "Tuning", "Trace", "Compare", "Debug", "Details"}
    window = open_window(ASSETS / "sessions" / f"{hung['Trace'].session}.roofscope")
    hung["Trace"].prepare(window)
    row = window.table.row_for(window.selection.number or 0)
    assert row
    assert row.has_trace
    window = open_window(ASSETS / "sessions" / f"{hung['Debug'].session}.roofscope")
    hung["Debug"].prepare(window)
    assert window.panes.debug.cards
    assert window.panes.debug.stop_button.isHidden()
    hung["Compare"].prepare(window)
    assert len([mark for mark in window.model.session.marks.values() if mark.is_pinned]) == 2


def test_no_clock_is_invented_beside_a_cpu() -> None:
    device = cpu_device()
    assert pictures.StillDevices((device,)).state(device) == DeviceState()
