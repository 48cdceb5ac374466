"""A provider is one member with its facts and one module: here one is added to a copy of the program.

Nothing else of the copy is touched. So all that the program needs of a provider is seen to come from there:
names of files, in the library and in a user's own folder, labels, marks, what a plan takes, list and doctor.
"""

import shutil
from pathlib import Path

import pytest

from roofscope.profiling.providers import Hue, Marker, Provider
from roofscope.tests.children import ROOT
from roofscope.tests.worker.command_line import keep_ceilings, main
from roofscope.tests.worker.toys import REFERENCE, add_toy

MEMBER = '    MADE_UP = "made_up"\n'
FACTS = """
    Provider.MADE_UP: Facts(
        name="Made up",
        meaning="a kernel in a language that nobody has",
        language="Made up",
        hue=Hue.{hue},
        marker=Marker.{marker},
        family=Family.{family},
        suffixes=(".py",),
        packages={packages},
    ),
"""
RARE = '(Package("Made-up DSL", "made-up-dsl", "MIT", extra="made_up"),)'
MODULE = '''
"""Made up: a file's ``run``, which compiles at its first call."""

from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.build.own_file import module_of


def build(request: BuildRequest) -> Built:
    call = FirstCall(run_of(module_of(request, f"{request.implementation.stem}.py"), *request.inputs))
    return Built(call, lambda: BuildInfo(compile_s=call.seconds))
'''


def with_made_up(folder: Path, family: str, packages: str) -> Path:
    """A copy of what runs, with one kernel of the library and one provider more."""
    for name in ("app", "profiling", "kernels/relu", "kernels/shared"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "main.py"):
        shutil.copy(ROOT / name, folder)
    used = [provider.facts for provider in Provider]
    hue = next((one for one in Hue if one not in [facts.hue for facts in used]), Hue.GREEN)
    marker = next((one for one in Marker if one not in [facts.marker for facts in used]), Marker.CIRCLE)
    facts = FACTS.format(hue=hue.name, marker=marker.name, family=family, packages=packages)
    providers = folder / "profiling" / "providers.py"
    text = providers.read_text()
    for begin, more in (('    CUDA = "cuda"\n', MEMBER), ("_FACTS = {", facts)):
        assert text.count(begin) == 1
        text = text.replace(begin, begin + more)
    providers.write_text(text)
    (folder / "profiling" / "worker" / "build" / "providers" / "made_up.py").write_text(MODULE)
    (folder / "kernels" / "relu" / "made_up_clamp.py").write_text("def run(x):\n    return x.clamp(min=0)\n")
    return folder


def test_one_that_needs_no_gpu_is_measured_in_the_library_and_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    copy = with_made_up(tmp_path / "copy", "PYTORCH", "()")
    mine = add_toy(tmp_path / "mine", "doubled", REFERENCE)
    (mine / "made_up_idea.py").write_text(REFERENCE)
    keep_ceilings(tmp_path / "cache")
    sizes = ("--size", "n=1024", "--device", "cpu", "--provider", "made_up")
    out = ("--out", tmp_path / "a.roofscope", "--svg")
    done = main(tmp_path, "run", "relu", "doubled", "--kernels", tmp_path / "mine", *sizes, *out, folder=copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Made up clamp" in done.stdout
    assert "Made up idea" in done.stdout
    assert ">Made up<" in (tmp_path / "a.svg").read_text()  # in its legend


def test_one_that_needs_a_gpu_and_a_package_that_few_have_says_so(tmp_path: Path) -> None:
    """A plan leaves the library's out, and takes those of a user's own."""
    copy = with_made_up(tmp_path / "copy", "OWN_CODE", RARE)
    mine = add_toy(tmp_path / "mine", "doubled", REFERENCE)
    (mine / "made_up_idea.py").write_text(REFERENCE)
    listed = main(tmp_path, "list", "relu", "doubled", "--kernels", tmp_path / "mine", folder=copy).stdout
    assert "made_up_clamp (needs an optional package: only with --provider made_up or its name)" in listed
    assert "made_up  made_up_idea\n" in listed
    missing = "only `made_up` implementations need it: `uv sync --extra made_up` adds it"
    assert missing in main(tmp_path, "doctor", folder=copy).stdout
    sizes = ("--size", "n=1024", "--device", "cpu", "--implementation", "made_up_idea")
    out = ("--out", tmp_path / "a.roofscope")
    done = main(tmp_path, "run", "doubled", "--kernels", tmp_path / "mine", *sizes, *out, folder=copy)
    assert "Made up kernels need an NVIDIA GPU; this run is on the CPU." in done.stdout


@pytest.mark.parametrize("provider", Provider)
def test_each_that_can_be_examined_has_its_module_for_it(provider: Provider) -> None:
    module = ROOT / "profiling" / "worker" / "build" / "without_gpu" / f"{provider}_compiled.py"
    assert module.exists() == provider.facts.is_examined
