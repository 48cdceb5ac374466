"""Commands that measure nothing, as a user calls them: what they print, and how they end."""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from roofscope import __version__
from roofscope.app.cli.commands import COMMANDS, cli
from roofscope.app.cli.documents import (
    CompileDocument,
    DeviceDocument,
    DoctorDocument,
    Document,
    ListDocument,
    PinDocument,
    ProjectDocument,
    RunDocument,
    SweepDocument,
    WhyDocument,
)
from roofscope.app.cli.errors import BUSY, DONE, INCONCLUSIVE, OUTPUT_LOST, PIPE_CLOSED, SOME_FAILED, USAGE
from roofscope.app.cli.run import RunOptions, run
from roofscope.profiling.doctor import Check, CheckState, Part
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import Failed, FailureKind, Flag, Stage
from roofscope.profiling.results.proof import ProofName
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.recording import Ending
from roofscope.tests.recorded import GELU
from roofscope.tests.sessions import make_session
from roofscope.tests.worker.toys import add_toy

ROOT = Path(__file__).parents[2]


class Called(msgspec.Struct):
    code: int
    out: str
    err: str


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]):
    def call(*words: object) -> Called:
        with pytest.raises(SystemExit) as ended:
            cli([str(word) for word in words], prog_name="roofscope")
        said = capfd.readouterr()
        return Called(int(ended.value.code or 0), said.out, said.err)

    return call


def test_each_command_is_listed_by_its_own_sentence(call) -> None:
    """The list is a table so that no module is loaded for it: here it is held against the modules."""
    called = call("-h")
    assert called.code == 0
    for name in COMMANDS:
        assert import_module(f"roofscope.app.cli.{name.replace('-', '_')}").command.__doc__
        assert re.search(rf"^  {name}\b", called.out, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_short_and_long_help_are_one(name: str, call) -> None:
    short, long = call(name, "-h"), call(name, "--help")
    assert short == long
    assert short.code == 0
    assert short.out.startswith(f"Usage: roofscope {name}")


def test_the_version_is_printed(call) -> None:
    assert call("--version") == Called(0, f"roofscope {__version__}\n", "")


def test_a_misspelt_command_is_one_sentence(call) -> None:
    assert call("exprt") == Called(2, "", "There is no command 'exprt'; did you mean 'export'?\n")


def test_completion_knows_the_commands(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ROOFSCOPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "roofscope se")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert call().out.split() == ["selftest"]


def test_kernels_are_listed(call) -> None:
    called = call("list", "softmax", "--json")
    document = msgspec.json.decode(called.out, type=ListDocument)
    [kernel] = document.kernels
    assert (kernel.name, [axis.name for axis in kernel.axes]) == ("softmax", ["rows", "cols"])
    assert {preset.name for preset in kernel.presets} == {"small", "medium", "large"}
    left_out = {found.name: found.left_out for found in kernel.implementations}
    assert left_out["triton_online"] == ""
    assert "--provider library" in left_out["library_liger"]
    text = call("list", "softmax").out
    for word in (
        "softmax: Softmax of rows",
        "fp32, fp16, bf16",
        "triton_online",
        "cols (columns of x",
        "sweep of 8",
    ):
        assert word in text


def test_a_kernel_that_is_left_out_says_why(tmp_path: Path, call) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "spec.py").write_text("SPEC = (")
    called = call("list", "gelu", "--kernels", tmp_path, "--json")
    [problem] = msgspec.json.decode(called.out, type=ListDocument).problems
    assert problem.message in called.err
    assert "mine/spec.py cannot be used" in problem.message


def test_a_domain_is_listed_with_its_implementations(tmp_path: Path, call) -> None:
    folder = add_toy(tmp_path, "mine", "def run(x):\n    return x * 2\n")
    (folder / "triton_tiles.py").write_text('DOMAIN = "n % 16 == 0"\n')
    [kernel] = msgspec.json.decode(
        call("list", "mine", "--kernels", tmp_path, "--json").out, type=ListDocument
    ).kernels
    domains = {found.name: found.domain for found in kernel.implementations}
    assert (domains["eager"], domains["triton_tiles"]) == ("", "n % 16 == 0")
    assert "domain   triton_tiles: n % 16 == 0" in call("list", "mine", "--kernels", tmp_path).out


def test_the_sheet_of_the_cpu(call) -> None:
    document = msgspec.json.decode(call("device", "--device", "cpu", "--json").out, type=DeviceDocument)
    assert document.device.id == "cpu"
    text = call("device", "--device", "cpu").out
    for word in (document.device.name, document.device.uuid, "cores", "memory", "clock"):
        assert word in text


def test_the_doctor_in_json(call) -> None:
    document = msgspec.json.decode(call("doctor", "--json").out, type=DoctorDocument)
    assert document.checks[0].name == "Python"
    assert document.missing == ()


def test_what_a_script_requires_sets_the_exit_code(call, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (
        Check("torch", CheckState.OK, "torch", gives=Part.TORCH),
        Check("Triton", CheckState.MISSING, "none", "get it"),
    )
    monkeypatch.setattr("roofscope.app.cli.doctor.examine", lambda: checks)
    assert call("doctor", "--require", "torch").code == 0
    missing = call("doctor", "--require", "torch,triton", "--require", "gpu", "--json")
    assert (missing.code, missing.err) == (1, "Required and not here: triton, gpu.\n")
    assert msgspec.json.decode(missing.out, type=DoctorDocument).missing == ("triton", "gpu")
    assert call("doctor", "--require", "trtion") == Called(
        2, "", "There is no part 'trtion'; did you mean 'triton'?\n"
    )


def test_a_recorded_session_is_shown_again(call) -> None:
    text = call("show", GELU).out
    assert "NVIDIA H200" in text
    assert "eager PyTorch" in text
    document = msgspec.json.decode(call("show", GELU, "--json").out, type=RunDocument)
    session = load(GELU)
    assert document.schema == "roofscope/1"
    assert document.device == session.device
    assert [point.median_s for point in document.points if point.median_s] == [
        point.measured.time.median_s for point in session.points if point.measured
    ]


def test_a_recorded_self_test_is_shown_again(call) -> None:
    text = call("show", "h200-proofs").out
    document = msgspec.json.decode(call("show", "h200-proofs", "--json").out, type=RunDocument)
    assert [proof.name for proof in document.proofs] == list(ProofName)
    assert all(f"{proof.name} passed. Limit: {proof.limit}" in text for proof in document.proofs)
    assert document.points == ()


def test_the_schema_describes_every_document(call) -> None:
    schema = json.loads(call("schema").out)
    tags = {kind.__struct_config__.tag for kind in Document.__subclasses__()}
    ours, exported = schema["anyOf"]
    assert set(ours["discriminator"]["mapping"]) == tags
    assert exported == {"$ref": "#/$defs/SessionDocument"}
    for kind in Document.__subclasses__():
        described = schema["$defs"][kind.__name__]["properties"]
        assert described["schema"]["enum"] == ["roofscope/1"]


def test_an_export_goes_to_stdout(call) -> None:
    rows = list(csv.DictReader(call("export", GELU, "--csv", "--out", "-").out.splitlines()))
    assert len(rows) == len(load(GELU).points)
    assert call("export", GELU, "--svg", "--out", "-").out.startswith("<svg")


def test_an_exported_chart_can_show_shares_of_the_roof(call) -> None:
    assert "Fraction of roof" in call("export", GELU, "--svg", "--y", "roof", "--out", "-").out
    assert "Fraction of roof" not in call("export", GELU, "--svg", "--out", "-").out
    refused = call("export", GELU, "--svg", "--y", "rof", "--out", "-")
    assert refused.code == 2
    assert "roof" in refused.err


def test_a_trace_of_a_session_is_exported_without_its_device(tmp_path: Path, call) -> None:
    path, chrome = tmp_path / "a.roofscope", b'{"traceEvents": []}'
    point = make_session().points[0]
    key = point.implementation.key
    with SessionStore.create(path) as store:
        refused = call("export", path, "--trace", key)
        assert (refused.code, "holds no trace" in refused.err) == (2, True)
        store.add_trace(point.job, point.implementation, gzip.compress(b"older"))
        store.add_trace(point.job, point.implementation, gzip.compress(chrome))
    out = tmp_path / "t.json"
    assert call("export", path, "--trace", key, "--out", out) == Called(0, f"{out}\n", "")
    assert out.read_bytes() == chrome
    assert call("export", path, "--trace", "1", "--out", "-").out == "older"
    beside = Path(call("export", path, "--trace", key).out.strip())
    assert beside == tmp_path / f"a-{key.replace('/', '-')}.json.gz"
    assert gzip.decompress(beside.read_bytes()) == chrome
    assert f"choose from {key}." in call("export", path, "--trace", "none/x").err


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", str(GELU)),
        ("export", str(GELU), "--json", "--out", "-"),
        ("doctor",),
        ("doctor", "--json"),
    ],
)
def test_a_reader_that_has_enough_is_no_news(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "main.py", *words],
        cwd=ROOT,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_strict_run_fails_on_a_flagged_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roofscope.app.cli.run.record", lambda path, *_, **__: Ending(path=path))
    session = make_session()
    monkeypatch.setattr("roofscope.app.cli.run.load", lambda _: session)
    monkeypatch.setattr("roofscope.app.cli.run.shortfall", lambda *_, **__: "")
    options = RunOptions(["gelu"], [Provider.EAGER], device="cpu", out=tmp_path / "a.roofscope")
    session.points = tuple(point for point in session.points if point.measured)[:2]
    flags: dict[int, tuple[Flag, ...]] = {session.points[0].number: (Flag.UNSTABLE, Flag.LAUNCH_BOUND)}
    monkeypatch.setattr("roofscope.app.cli.run.flags_of", lambda point, _: flags.get(point.number, ()))
    assert run(options) == 0
    assert run(msgspec.structs.replace(options, strict=True)) == 1
    key = session.points[0].implementation.key
    assert capsys.readouterr().err == f"--strict: 1 of 2 flagged: {key} (unstable).\n"
    flags.clear()
    assert run(msgspec.structs.replace(options, strict=True)) == 0


H200 = ASSETS / "sessions" / "h200.roofscope"


def test_source_prints_the_files_as_they_were(call) -> None:
    session = load(H200)
    point = next(one for one in session.points if one.implementation.key == "softmax/triton_online")
    [file] = session.sources[point.implementation.source_hash]
    called = call("source", H200, "softmax/triton_online")
    assert (called.code, called.err) == (0, "")
    assert called.out.rstrip("\n") == file.text.rstrip("\n")
    assert call("source", H200, point.number).out == called.out
    two = call("source", H200, "gelu/cuda_sigmoid").out
    assert two.startswith("==> cuda_sigmoid.cu <==\n// GELU")
    assert "==> cuda_sigmoid.py <==" in two


def test_source_says_how_two_points_differ(call) -> None:
    out = call("source", H200, "gelu/cuda_sigmoid", "--diff", "swish/cuda_packed").out
    assert "--- cuda_sigmoid.cu (point" in out
    assert "+++ cuda_packed.cu (point" in out
    assert '-    program.launch("gelu"' in out
    assert '+    program.launch("swish"' in out
    assert (
        call("source", H200, "gelu/eager", "--diff", "gelu/eager").out
        == "Both points have the same source.\n"
    )


def test_source_says_what_is_known_of_a_launch(call) -> None:
    out = call("source", H200, "softmax/triton_online", "--launch").out
    header = "==> softmax / Triton online, point 101, kernel 1 of 1 <==\n_softmax\n"
    assert out.startswith(header)
    assert re.search(r"Registers +32\n", out)
    assert re.search(r"Not recorded +grid and block, occupancy; measure it again\n", out)
    two = call("source", H200, "add_rms_norm/eager", "--launch").out
    assert two.count("==> add_rms_norm / eager PyTorch, point 137, kernel ") == 2


def test_source_prints_what_there_is_and_says_what_is_not(call) -> None:
    called = call("source", H200, "softmax/triton_online", "--launch", "--ptx", "--sass")
    assert called.code == 1
    assert "_softmax" in called.out
    assert (
        called.err.count("kept no generated code of softmax / Triton online. Measure it again with `roof")
        == 1
    )
    refused = call("source", H200, "softmax/triton_online", "--ptx", "--json")
    assert (refused.code, json.loads(refused.out)["document"]) == (2, "fault")


def test_a_name_that_is_like_no_other_lists_a_few(call) -> None:
    said = call("source", H200, "xyz").err
    assert said.startswith("There is no implementation 'xyz'; choose from ")
    assert re.search(r" and \d\d+ more\.\n$", said)
    assert len(said) < 400
    assert said.count("/") == 8
    of_kernel = call("source", H200, "gelu").err
    for name in ("compile_default", "cuda_sigmoid", "eager", "triton_sigmoid"):
        assert f" gelu/{name}," in of_kernel
    with_name = call("source", H200, "libraryy_liger_of_softmax_and_of_much_else").err
    assert "softmax/library_liger" in with_name
    assert len(call("source", H200, "x" * 5000).err) < 600


POINTED = {
    "why": ("why", H200, "@"),
    "source": ("source", H200, "@"),
    "pin": ("pin", H200, "@"),
    "compare": ("compare", H200, "--history", "@"),
    "diff": ("source", H200, "1", "--diff", "@"),
}


@pytest.mark.parametrize("name", POINTED)
@pytest.mark.parametrize(
    ("point", "more", "said"),
    [
        ("999", (), "has no point 999; its points are 1 to 293."),
        ("9" * 5000, (), "has no point 999999999999999999; its points are 1 to 293."),
        (
            "softmax/triton_onlin",
            (),
            "no implementation 'softmax/triton_onlin'; did you mean 'softmax/",
        ),
        (
            "softmax/eager",
            ("--size", "rows=7"),
            "softmax/eager is not in this session at rows=7, only at rows=",
        ),
        ("softmax/eager", ("--dtype", "fp32"), "softmax/eager is not in this session in fp32, only in bf16."),
        ("softmax/eager", ("--dtype", "fp31"), "there is no element type 'fp31'; choose from"),
    ],
)
def test_a_point_is_named_and_refused_in_the_same_way(
    call, name: str, point: str, more: tuple[str, ...], said: str
) -> None:
    called = call(*(point if word == "@" else word for word in POINTED[name]), *more)
    assert (called.code, called.out) == (2, "")
    assert said in called.err


@pytest.mark.parametrize("name", ["why", "source", "pin", "compare"])
def test_a_number_is_one_point_whatever_its_type(call, name: str) -> None:
    called = call(*("1" if word == "@" else word for word in POINTED[name]), "--dtype", "bf16")
    assert (called.code, called.out) == (2, "")
    assert called.err == "Point 1 is one by its number; leave --dtype and --size out.\n"


def test_of_a_number_and_a_name_the_type_is_meant_for_the_name(call) -> None:
    called = call("source", H200, "1", "--diff", "softmax/eager", "--dtype", "bf16")
    assert (called.code, called.err) == (0, "")
    assert call("why", GELU, "--dtype", "fp32").code == call("pin", GELU, "--size", "n=1").code == 2


PRINTING = (
    "list",
    "show",
    "why",
    "compare",
    "plot",
    "pin",
    "source",
    "trace record",
    "trace open",
    "trace repair",
    "run",
)


@pytest.mark.parametrize("name", PRINTING)
def test_what_is_printed_can_be_had_as_json(name: str, call) -> None:
    assert "--json" in call(*name.split(), "--help").out


def test_each_exit_code_is_in_the_help(call) -> None:
    said = " ".join(call("--help").out.split())
    for code in (DONE, SOME_FAILED, USAGE, INCONCLUSIVE, OUTPUT_LOST, BUSY, PIPE_CLOSED):
        assert re.search(rf"[:;] {code} ", said), code


def test_pins_are_printed_as_json(call, tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    shutil.copy(GELU, path)
    assert msgspec.json.decode(call("pin", path, "--json").out, type=PinDocument).marks == ()
    called = call("pin", path, "6", "--note", "keep", "--tag", "best", "--json")
    [mark] = msgspec.json.decode(called.out, type=PinDocument).marks
    assert (mark.point, mark.implementation, mark.note, mark.tags) == (
        6,
        "gelu/cuda_textbook",
        "keep",
        ("best",),
    )
    assert mark.pinned_at
    assert call("pin", path, "--json").out == called.out


def test_a_sweep_is_printed_as_json(call, tmp_path: Path) -> None:
    called = call("plot", H200, "--kernel", "softmax", "--y", "time", "--json")
    document = msgspec.json.decode(called.out, type=SweepDocument)
    assert (document.kernel, document.dtype, document.unit) == ("softmax", Dtype.BFLOAT16, "s")
    points = {point.number: point for point in load(H200).points}
    for implementation in document.implementations:
        for size in implementation.sizes:
            point = points[size.point]
            assert point.implementation.stem == implementation.implementation
            assert size.value == (point.measured.time.median_s if point.measured else None)
            assert bool(size.reason) is (point.measured is None)
    out = tmp_path / "a.svg"
    drawn = call("plot", H200, "--kernel", "softmax", "--y", "time", "--json", "--out", out)
    assert drawn.out == called.out
    assert out.read_text().startswith("<svg")
    assert call("plot", H200, "--sweep", "--table", "--json").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("softmax/triton_onlin",), "did you mean 'softmax/triton_online'?"),
        (("999",), "has no point 999; its points are 1 to 293."),
        (("softmax/triton_online", "--ptx"), "kept no generated code of softmax / Triton online."),
        (("softmax/triton_online", "--size", "rows=7"), "is not in this session at rows=7, only at"),
        (("copy/eager", "--diff", "1", "--json"), "--diff compares the files"),
    ],
)
def test_source_refuses_in_a_sentence(call, words: tuple[str, ...], said: str) -> None:
    called = call("source", H200, *words)
    assert called.code == 2
    assert bool(called.out) == ("--json" in words)
    assert said in called.err


def test_source_gives_generated_code_and_names_the_failing_line(call, tmp_path: Path) -> None:
    path, session = tmp_path / "a.roofscope", make_session()
    first = session.points[0]
    failed = Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "No.", 'File "/x/eager.py", line 2, in run\nOh: no')
    codes = (Code(CodeKind.PTX, "one", "// first\x1b[31m"), Code(CodeKind.PTX, "two", "// second"))
    text = "import torch\nfail()\n"
    with SessionStore.create(path) as store:
        store.add_sources(first.implementation, [SourceFile("eager.py", "", text)])
        store.add_code(first.job, first.implementation, codes)
        store.add_outcome(first.job, first.implementation, failed)
    called = call("source", path, "1")
    assert called.out == "import torch\nfail()\n"
    assert called.err == "eager.py, line 2: Oh: no\n"
    ptx = call("source", path, "1", "--ptx")
    assert ptx.out == "// ===== one\n// first\\x1b[31m\n\n// ===== two\n// second\n"
    assert "has no SASS." in call("source", path, "1", "--sass").err
    document = json.loads(call("source", path, "1", "--json", "--ptx").out)
    assert (document["failing_file"], document["failing_line"]) == ("eager.py", 2)
    assert [code["name"] for code in document["code"]] == ["one", "two"]


def test_why_says_four_sentences_of_the_point_that_is_named(call) -> None:
    by_name, by_number = call("why", GELU, "gelu/cuda_textbook", "--dtype", "fp32"), call("why", GELU, 6)
    assert by_name.out == by_number.out
    for word in ("Limit", "Cost", "Evidence", "Next"):
        assert f"  {word}" in by_name.out
    assert "Double arithmetic limits it" in by_name.out
    assert "Double arithmetic limits it" in call("show", GELU, "--why").out
    assert "Double arithmetic limits it" not in call("show", GELU).out
    document = msgspec.json.decode(call("why", GELU, 6, "--json").out, type=WhyDocument)
    assert document.points[0].limit in by_number.out
    assert [record.number for record in document.points] == [6]


@pytest.mark.parametrize(
    ("point", "says"),
    [
        ("99", "has no point 99; its points are 1 to 14"),
        ("gelu/cuda_textbok", "did you mean 'gelu/cuda_textbook'?"),
    ],
)
def test_why_refuses_a_point_that_it_cannot_explain(call, point: str, says: str) -> None:
    called = call("why", GELU, point)
    assert called.code == 2
    assert says in called.err
    assert not called.out


def test_the_compile_report_says_whether_compiling_is_worth_it(call) -> None:
    said = call("compile-report", GELU).out
    assert "Worth compiling: no. Mode default is 0.945× as fast as eager" in said
    assert "Compiling is worth it for 0 of 2 workloads." in said
    assert "there is no compiled kernel 'softmax'" in call("compile-report", GELU, "softmax").err.lower()
    document = msgspec.json.decode(call("compile-report", GELU, "--json").out, type=CompileDocument)
    assert [lab.worth for lab in document.workloads] == ["no", "no"]


def test_a_session_without_compiled_points_has_no_compile_report(call, tmp_path: Path) -> None:
    path = tmp_path / "none.roofscope"
    SessionStore.create(path).close()
    called = call("compile-report", path)
    assert called.code == 2
    assert "holds no implementation by torch.compile" in called.err


def test_a_session_is_projected_onto_another_gpu(call) -> None:
    said = call("project", GELU, "--onto", "rtx 4090").out
    assert "no predictions" in said.replace("\n", " ")
    assert "≥ 533 µs" in said
    document = msgspec.json.decode(call("project", GELU, "--onto", "L4", "--json").out, type=ProjectDocument)
    assert document.projection.there == "L4"
    assert len(document.projection.points) == 12
    refused = call("project", GELU, "--onto", "GTX 1080")
    assert refused.code == 2
    assert "choose from V100 SXM2" in refused.err
