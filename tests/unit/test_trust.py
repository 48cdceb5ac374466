"""Kernels run with all that the user may do, so those of others are asked for once."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer

from roofscope.app.cli import trusting
from roofscope.app.cli.choice import choose_folders
from roofscope.app.cli.commands import cli
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.planning import survey as survey_module
from roofscope.profiling.planning.kernel_files import FileFault
from roofscope.profiling.planning.survey import survey
from roofscope.profiling.planning.trust import VARIABLE, Trust, TrustError, what_runs, whose

NOBODY = 424_242  # owns nothing here
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder of one kernel whose files note that they were run."""
    folder = tmp_path / "kernels" / "mine"
    folder.mkdir(parents=True)
    for name in ("spec.py", "reference.py", "eager.py", "__init__.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (folder / "notes.txt").touch()
    return folder.parent


@pytest.fixture
def foreign(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As it looks to somebody else: a test cannot give a file away."""
    monkeypatch.setattr(survey_module, "_own_users", lambda: {NOBODY})
    yield kernels
    assert not (kernels.parent / "ran").exists(), "something of an untrusted folder was run"


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    def call(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli([str(word) for word in words], prog_name="roofscope")
        said = capfd.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def test_a_folder_of_the_users_own_needs_no_trust(kernels: Path) -> None:
    found = survey(kernels)
    assert (found.is_own, whose(found)) == (True, "")
    assert [(kernel.name, kernel.files) for kernel in found.kernels] == [
        ("mine", ("__init__.py", "eager.py", "reference.py", "spec.py"))
    ]
    assert what_runs(found) == "1 kernel in 4 files"
    assert choose_folders([kernels]) == [kernels]


@pytest.mark.parametrize("name", ["", "mine", "mine/eager.py", "mine/notes.txt"])
def test_what_others_may_write_to_is_not_simply_the_users_own(kernels: Path, name: str) -> None:
    (kernels / name).chmod(0o777)
    assert whose(survey(kernels)) == "others may write to it"


def test_nor_is_what_others_may_put_another_in_place_of(kernels: Path) -> None:
    kernels.parent.chmod(0o777)
    assert survey(kernels).is_open
    kernels.parent.chmod(0o1777)  # as /tmp: only the owner may
    assert not survey(kernels).is_open


def test_owners_are_counted(foreign: Path) -> None:
    found = survey(foreign)
    assert found.foreign[os.geteuid()] >= 7
    assert not found.is_own
    assert whose(found).startswith("it belongs to ")


def test_a_link_counts_with_what_it_leads_to(kernels: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "elsewhere" / "spec.py").touch()
    (kernels / "linked").symlink_to(tmp_path / "elsewhere")
    assert survey(kernels).is_own
    (tmp_path / "elsewhere" / "spec.py").chmod(0o666)
    assert survey(kernels).is_open


def test_the_way_to_what_a_link_leads_to_counts(kernels: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine" / "deep").mkdir(parents=True, mode=0o700)
    (shared / "mine" / "deep" / "helper.py").touch()
    (kernels / "mine" / "triton_a.py").symlink_to(shared / "mine" / "deep" / "helper.py")
    assert survey(kernels).is_own
    shared.chmod(0o777)  # another "mine" may be put there
    assert survey(kernels).is_open
    shared.chmod(0o1777)
    assert not survey(kernels).is_open


def test_the_way_through_another_link_counts(kernels: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "own.py").touch(mode=0o600)
    (tmp_path / "shared" / "to_own.py").symlink_to("../own.py")
    (kernels / "mine" / "triton_a.py").symlink_to(tmp_path / "shared" / "to_own.py")
    assert survey(kernels).is_own
    (tmp_path / "shared").chmod(0o777)  # another link may be put there
    assert survey(kernels).is_open


def test_what_lies_deep_in_a_linked_folder_counts(kernels: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True, mode=0o700)
    (tmp_path / "elsewhere" / "deep" / "helper.py").touch(mode=0o600)
    (kernels / "mine" / "linked").symlink_to(tmp_path / "elsewhere")
    assert survey(kernels).is_own
    (tmp_path / "elsewhere" / "deep" / "helper.py").chmod(0o666)
    assert survey(kernels).is_open


@pytest.mark.parametrize(
    ("name", "members", "others", "is_open"),
    [
        ("me", [], [], False),
        ("me", ["me"], [], False),
        ("me", ["me", "bob"], [], True),
        ("me", [], ["bob"], True),  # whose primary group it is
        ("staff", [], [], True),
    ],
)
def test_a_group_is_the_users_own_where_nobody_else_is_in_it(
    kernels: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    members: list[str],
    others: list[str],
    is_open: bool,
) -> None:
    own = Mock(pw_gid=os.getegid(), pw_name="me")
    every = [own, *(Mock(pw_gid=os.getegid(), pw_name=other) for other in others)]
    monkeypatch.setattr("grp.getgrgid", Mock(return_value=Mock(gr_name=name, gr_mem=members)))
    monkeypatch.setattr("pwd.getpwuid", Mock(return_value=own))
    monkeypatch.setattr("pwd.getpwall", Mock(return_value=every))
    (kernels / "mine").chmod(0o775)
    assert survey(kernels).is_open is is_open


def test_a_folder_too_large_to_be_looked_at_is_not_trusted_for_good(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    trust = Trust(tmp_path / "trusted.json", {})
    trust.add(survey(foreign))
    monkeypatch.setattr(survey_module, "MOST_ENTRIES", 3)
    assert not trust.covers(survey(foreign))
    with pytest.raises(TrustError, match="cannot be trusted for good"):
        trust.add(survey(foreign))
    code, _, said = call("trust", foreign)
    assert (code, said.count("\n")) == (2, 1)
    assert Trust(tmp_path / "trusted.json", {VARIABLE: str(foreign)}).covers(survey(foreign))


def test_a_folder_too_large_to_be_looked_at_is_not_simply_the_users_own(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "MOST_ENTRIES", 3)
    assert whose(survey(kernels)) == "it holds too many files to look at"


def test_links_that_lead_round_end(kernels: Path) -> None:
    (kernels / "round").symlink_to(kernels)
    (kernels / "mine" / "round").symlink_to(kernels)
    (kernels / "itself").symlink_to("itself")
    assert survey(kernels).is_own
    with pytest.raises(FileFault):
        survey(kernels / "itself")


def test_trust_is_by_path(foreign: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "config" / "trusted.json", {})
    found = survey(foreign)
    assert not trust.covers(found)
    trust.add(found)
    again = Trust(tmp_path / "config" / "trusted.json", {})
    assert again.covers(found)
    (foreign / "mine" / "new.py").touch()
    assert again.covers(survey(foreign))  # an edit by an owner who is trusted
    assert not again.covers(survey(foreign / "mine"))
    (foreign / "mine" / "new.py").chmod(0o666)
    assert not again.covers(survey(foreign))
    assert again.remove(foreign)
    assert not again.covers(found)
    assert not again.remove(foreign)


def test_another_owners_files_are_asked_for_again(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = Trust(tmp_path / "trusted.json", {})
    with monkeypatch.context() as before:
        before.setattr(survey_module, "_own_users", lambda: {0, os.geteuid()})
        trust.add(survey(foreign))
        assert trust.covers(survey(foreign))
    assert not trust.covers(survey(foreign))


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[" * 20_000, b'{"folders": [{"path": 3}]}', b"x" * (3 << 20)]
)
def test_a_file_of_trust_that_cannot_be_read_trusts_none(
    foreign: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "config" / "trusted.json"
    file.parent.mkdir()
    file.write_bytes(content)
    trust = Trust(file, {})
    assert trust.folders == ()
    trust.add(survey(foreign))
    assert trust.covers(survey(foreign))
    assert [path.name for path in file.parent.iterdir()] == ["trusted.json"]
    assert file.stat().st_mode & 0o077 == 0


def test_where_trust_cannot_be_remembered_one_sentence_says_so(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TrustError, match="cannot be written: "):
        Trust(tmp_path / "file" / "trusted.json", {}).add(survey(foreign))


@pytest.mark.parametrize("command", ["list", "run"])
def test_without_a_terminal_a_foreign_folder_is_refused_in_one_sentence(
    foreign: Path, call: Call, command: str
) -> None:
    code, _, said = call(command, "mine", "--kernels", foreign)
    assert code == 2
    assert said.count("\n") == 1
    assert f"{foreign} was not run, because it belongs to " in said
    assert f"look at its 1 kernel in 4 files, then `roofscope trust {foreign}`, give --trust" in said


def test_the_environment_may_name_it(foreign: Path, tmp_path: Path) -> None:
    found = survey(foreign)
    other = str(tmp_path / "other")
    assert Trust(tmp_path / "none", {VARIABLE: f"{other}{os.pathsep}{foreign}"}).covers(found)
    assert not Trust(tmp_path / "none", {VARIABLE: other}).covers(found)
    assert not Trust(tmp_path / "none", {VARIABLE: ""}).covers(found)


def test_an_option_trusts_it_from_now_on(foreign: Path) -> None:
    assert choose_folders([foreign], is_trusted=True) == [foreign]
    assert choose_folders([foreign]) == [foreign]
    assert Trust(UserPaths.of_user().trusted).remove(foreign)


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_it_is_asked_once(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: bool
) -> None:
    monkeypatch.setattr(trusting.sys, "stdin", Terminal())
    monkeypatch.setattr(trusting.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(trusting.typer, "confirm", Mock(return_value=answer))
    if answer:
        assert choose_folders([foreign]) == [foreign]
        assert Trust(UserPaths.of_user().trusted).remove(foreign)
    else:
        with pytest.raises(typer.Exit):
            choose_folders([foreign])
    said = capsys.readouterr().err
    assert "mine: __init__.py, eager.py, reference.py, spec.py" in said
    assert ("Nothing of" in said) is not answer


def test_what_changes_while_it_is_asked_is_not_run(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def confirm(*_: object, **__: object) -> bool:
        (foreign / "mine" / "eager.py").chmod(0o666)
        return True

    monkeypatch.setattr(trusting.sys, "stdin", Terminal())
    monkeypatch.setattr(trusting.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(trusting.typer, "confirm", confirm)
    with pytest.raises(typer.Exit):
        choose_folders([foreign])
    assert not Trust(UserPaths.of_user().trusted).remove(foreign)
    assert "it has changed since it was looked at" in capsys.readouterr().err


def test_the_command_adds_lists_and_forgets(foreign: Path, call: Call) -> None:
    assert "1 kernel in 4 files" in call("trust", foreign)[1]
    assert str(foreign) in call("trust")[1]
    assert call("list", "--kernels", foreign / "mine")[0] == 2  # another path
    assert "no longer" in call("trust", "--forget", foreign)[1]
    assert call("trust", "--forget", foreign)[0] == 2
    assert "No folder" in call("trust")[1]
