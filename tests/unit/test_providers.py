"""A provider is one member with its facts, and one module that builds."""

from pathlib import Path

import pytest

from roofscope.profiling import providers
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.providers import VARIANT, Family, Provider, packages, provider_of

BUILDERS = Path(providers.__file__).parent / "worker" / "build" / "providers"


def test_each_has_its_facts_and_its_module_and_there_are_no_others() -> None:
    modules = {path.stem for path in BUILDERS.glob("*.py")} - {"__init__"}
    assert modules == {str(provider) for provider in Provider}
    assert all(provider.facts.name for provider in Provider)


@pytest.mark.parametrize(
    ("stem", "provider"),
    [
        ("eager", Provider.EAGER),
        ("eager_naive", Provider.EAGER),
        ("cuda_ext_textbook", Provider.CUDA_EXT),
        ("cuda_external", Provider.CUDA),
        ("triton_online", Provider.TRITON),
        ("tritonish", None),
        ("helper", None),
    ],
)
def test_a_files_stem_names_its_provider(stem: str, provider: Provider | None) -> None:
    assert provider_of(stem) is provider


def test_a_stem_is_an_implementations_where_it_has_a_variant_and_files_of_its_own() -> None:
    found = VARIANT.fullmatch("cuda_ext_textbook")
    assert found
    assert found.groups() == ("cuda_ext", "textbook")
    assert not VARIANT.fullmatch("eager")
    assert not VARIANT.fullmatch("compile_default")  # derived from eager.py


def test_labels_are_those_that_people_know() -> None:
    assert Provider.EAGER.label("") == "eager PyTorch"
    assert Provider.EAGER.label("two_passes") == "eager two passes"
    assert Provider.COMPILE.label("default") == "torch.compile"
    assert Provider.COMPILE.label("max_autotune") == "compile max autotune"
    assert Provider.CUDA_EXT.label("textbook") == "CUDA extension textbook"
    assert Provider.LIBRARY.label("liger") == "Liger-Kernel"
    assert Provider.LIBRARY.label("my_own") == "my own"


def test_a_launcher_is_the_last_of_a_pair() -> None:
    assert Provider.CUDA.file_names("cuda_warp") == ("cuda_warp.cu", "cuda_warp.py")
    assert Provider.COMPILE.file_names("compile_default") == ("eager.py",)


def test_what_can_be_examined_is_code_of_its_own() -> None:
    for provider in Provider:
        assert provider.facts.family is Family.OWN_CODE or not provider.facts.is_examined, provider
        assert provider.facts.is_examined or not provider.facts.is_interpreted, provider


def test_extras_that_install_packages_are_those_of_the_project() -> None:
    project = (LIBRARY.parent / "pyproject.toml").read_text()
    for package in packages():
        extra = project.partition(f"\n{package.extra} = [\n")[2].partition("\n]\n")[0]
        assert f'"{package.distribution}' in extra, package
