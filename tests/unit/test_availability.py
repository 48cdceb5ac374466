"""Why an implementation cannot run here."""

from roofscope.app.window.availability import Availability
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.spec import Implementation, Provider

EAGER = Implementation("gelu", Provider.EAGER, "", "hash")
TRITON = Implementation("gelu", Provider.TRITON, "tiles", "hash")


def test_the_packages_are_read_once_and_not_for_every_row() -> None:
    asked: list[str] = []

    def version(name: str) -> str:
        asked.append(name)
        return "1.0"

    availability = Availability(version)
    assert [availability.reason(EAGER, cpu_device()) for _ in range(100)] == [""] * 100
    assert asked == ["torch"]


def test_without_torch_nothing_runs_and_on_a_cpu_no_triton() -> None:
    assert "PyTorch is not installed" in Availability(lambda _: None).reason(EAGER, cpu_device())
    assert "need an NVIDIA GPU" in Availability(lambda _: "1.0").reason(TRITON, cpu_device())
    assert Availability(lambda _: None).reason(EAGER, None) == ""
