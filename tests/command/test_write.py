"""What a rewritten file keeps, and what is left when writing goes wrong."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from neuron_migrate import write

OLD = b"old bytes, and longer than the new ones\n"
NEW = b"new bytes\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.py"
    path.write_bytes(OLD)
    return path


def only(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o640, 0o664, 0o777, 0o200, 0o4755])
@pytest.mark.parametrize("links", [1, 2])
def test_the_mode_is_kept(file: Path, mode: int, links: int) -> None:
    if links == 2:
        os.link(file, file.with_name("second.py"))
    file.chmod(mode)
    umask = os.umask(0o077)
    try:
        write.replace(str(file), OLD, NEW)
    finally:
        os.umask(umask)
    # Any write takes the set-user-id bit away, unless root does it.
    assert stat.S_IMODE(file.stat().st_mode) in (mode, mode & 0o777 if links == 2 else mode)
    file.chmod(0o600)
    assert file.read_bytes() == NEW


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(file: Path) -> None:
    os.chown(file, 65534, 65533)
    write.replace(str(file), OLD, NEW)
    assert (file.stat().st_uid, file.stat().st_gid) == (65534, 65533)
    assert file.read_bytes() == NEW


def test_a_symbolic_link_stays_a_link_and_its_target_is_written(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "link.py").symlink_to("second.py")
    (other / "second.py").symlink_to("../file.py")
    write.replace(str(other / "link.py"), OLD, NEW)
    assert os.readlink(other / "link.py") == "second.py"
    assert file.read_bytes() == NEW
    assert sorted(os.listdir(tmp_path)) == ["file.py", "other"]
    assert len(os.listdir(other)) == 2


def test_hard_links_stay_one_file(file: Path) -> None:
    twin = file.with_name("twin.py")
    os.link(file, twin)
    write.replace(str(file), OLD, NEW)
    assert twin.read_bytes() == NEW
    assert twin.samefile(file)
    assert len(os.listdir(file.parent)) == 2


def test_a_file_that_grows_is_written_whole_through_hard_links(file: Path) -> None:
    os.link(file, file.with_name("twin.py"))
    write.replace(str(file), OLD, OLD * 10_000)
    assert file.read_bytes() == OLD * 10_000


@pytest.mark.parametrize("now", [b"", b"other", OLD + b"x", OLD[:-1], OLD.replace(b"old", b"odd")])
@pytest.mark.parametrize("links", [1, 2])
def test_a_file_that_has_changed_meanwhile_is_left_alone(file: Path, now: bytes, links: int) -> None:
    file.write_bytes(now)
    if links == 2:
        os.link(file, file.with_name("twin.py"))
    with pytest.raises(write.WriteError, match="changed on disk"):
        write.replace(str(file), OLD, NEW)
    assert file.read_bytes() == now
    assert len(os.listdir(file.parent)) == links


def test_a_file_that_has_vanished_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(write.WriteError, match="No such file"):
        write.replace(str(file), OLD, NEW)
    assert os.listdir(file.parent) == []


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400])
def test_a_read_only_file_is_left_alone_even_by_root(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(write.WriteError, match="read-only"):
        write.replace(str(file), OLD, NEW)
    assert file.read_bytes() == OLD
    assert only(file)


def test_a_file_with_the_longest_possible_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 252 + ".py")
    path.write_bytes(OLD)
    write.replace(str(path), OLD, NEW)
    assert path.read_bytes() == NEW


def failing(error: BaseException, after: int = 0, times: int = 1) -> Callable[..., Any]:
    """A stand-in for a system call that fails once, at the given turn."""
    turns = iter(range(1_000))

    def call(original: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if after <= next(turns) < after + times:
            raise error
        return original(*given, **named)

    return call


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt(), SystemExit(143)])
@pytest.mark.parametrize("call", ["fsync", "replace", "chmod", "write", "ftruncate"])
@pytest.mark.parametrize("links", [1, 2])
def test_whatever_goes_wrong_the_file_is_whole_and_nothing_is_left_behind(
    file: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: str, links: int
) -> None:
    if links == 2:
        os.link(file, file.with_name("twin.py"))
    original = getattr(os, call)
    # With hard links the first fsync is that of the safe copy; the second comes when the file is half done.
    stand_in = failing(error, after=1 if links == 2 and call == "fsync" else 0)
    monkeypatch.setattr(os, call, lambda *given, **named: stand_in(original, *given, **named))
    caught: BaseException | None = None
    try:
        write.replace(str(file), OLD, NEW)
    except (write.WriteError, KeyboardInterrupt, SystemExit) as raised:
        caught = raised
    monkeypatch.undo()
    # Each of the two ways of writing does without some of the calls.
    assert file.read_bytes() == (NEW if caught is None else OLD)
    assert caught is None or isinstance(caught, write.WriteError) == isinstance(error, OSError)
    assert len(os.listdir(file.parent)) == links


def test_a_torn_file_is_told_with_the_place_of_its_old_bytes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(file, file.with_name("twin.py"))

    def broken(*given: Any) -> NoReturn:
        raise FULL

    monkeypatch.setattr(os, "write", broken)
    with pytest.raises(write.WriteError, match="its old content is in") as caught:
        write.replace(str(file), OLD, NEW)
    copy = Path(str(caught.value).rpartition(" ")[2])
    assert copy.read_bytes() == OLD


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EPERM])
def test_a_directory_in_which_nothing_can_be_created_does_not_matter(
    file: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    inode = file.stat().st_ino
    original = tempfile.mkstemp

    def mkstemp(**named: Any) -> tuple[int, str]:
        if named.get("dir"):
            raise OSError(code, "no")
        descriptor, name = original(**named)
        return descriptor, name

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    write.replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert file.stat().st_ino == inode
    assert only(file)


def test_a_file_that_cannot_be_renamed_over_is_overwritten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is with a single file that is mounted into a container."""
    original = os.replace
    stand_in = failing(OSError(errno.EBUSY, "Device or resource busy"))
    monkeypatch.setattr(os, "replace", lambda *given: stand_in(original, *given))
    write.replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert only(file)
