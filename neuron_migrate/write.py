"""Put new bytes into a file that somebody owns.

The rule is: write a temporary file beside it, then rename it over the old one. A reader, a crash or a full disk meets
the old bytes or the new ones, never half of them. Mode and owner are carried over, and a symbolic link is followed, so
that the link stays a link.

The exception is a file that a rename would take apart: one with several hard links (the other names would keep the
old bytes), one in a directory where no file may be created, and a mounted file. Such a file is overwritten in place,
while a copy of the old bytes lies on disk: if anything goes wrong they are put back. Only a power cut or SIGKILL in
these milliseconds could leave it torn, and then the copy is still there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile

from neuron_migrate.interrupts import held

_PREFIX = ".neuron-migrate-"
_NO_RENAME = {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS}


class WriteError(Exception):
    """A file that was not written: it holds what it held before, unless the message says otherwise."""


def replace(path: str, before: bytes, after: bytes) -> None:
    """Replace the bytes of a file, which must still be ``before``."""
    with held():
        try:
            target = os.path.realpath(path)
            status = os.stat(target)
            _check_writable(target, status)
            _check_unchanged(target, before)
            if status.st_nlink > 1 or not _swap(target, status, before, after):
                _overwrite(target, before, after)
        except OSError as error:
            raise WriteError(f"the file cannot be written: {error.strerror or error}") from error


def _check_writable(target: str, status: os.stat_result) -> None:
    # A rename asks the directory for permission, not the file, and root may do anything. The mode is the owner's word.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise WriteError("the file is read-only; make it writable and run again")
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise WriteError("the file cannot be written: Permission denied")


def _check_unchanged(target: str, before: bytes) -> None:
    with open(target, "rb") as file:
        now = file.read(len(before) + 1)
    if now != before:
        raise WriteError("the file has changed on disk since it was read; it is left as it is now, run again")


def _swap(target: str, status: os.stat_result, before: bytes, after: bytes) -> bool:
    """Rename a new file over the old one; False, and nothing done, where that cannot be."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=_PREFIX, dir=os.path.dirname(target))
    except OSError as error:
        if error.errno in _NO_RENAME:
            return False
        raise
    try:
        _fill(descriptor, after)
        _carry_over(temporary, status)
        _check_unchanged(target, before)  # once more, as late as can be
        try:
            os.replace(temporary, target)
        except OSError as error:
            if error.errno not in _NO_RENAME:
                raise
            os.unlink(temporary)
            return False
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return True


def _carry_over(temporary: str, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        mine = os.stat(temporary)
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            # Only root may give files away; the group can often be kept where the owner cannot.
            try:
                os.chown(temporary, status.st_uid, status.st_gid)
            except OSError:
                with contextlib.suppress(OSError):
                    os.chown(temporary, -1, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))  # after chown, which takes away the set-user-id bit


def _overwrite(target: str, before: bytes, after: bytes) -> None:
    descriptor = os.open(target, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        copy = _safe_copy(os.path.dirname(target), before)
        try:
            _refill(descriptor, after)
        except BaseException as error:
            try:
                _refill(descriptor, before)
            except OSError:
                raise WriteError(f"the file was torn while it was written; its old content is in {copy}") from error
            os.unlink(copy)
            raise
        os.unlink(copy)
    finally:
        os.close(descriptor)


def _safe_copy(directory: str, data: bytes) -> str:
    try:
        descriptor, copy = tempfile.mkstemp(prefix=_PREFIX, dir=directory)
    except OSError:
        descriptor, copy = tempfile.mkstemp(prefix=_PREFIX)
    try:
        _fill(descriptor, data)
    except BaseException:
        os.unlink(copy)
        raise
    return copy


def _fill(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _refill(descriptor: int, data: bytes) -> None:
    # Cut to length last: until then the file keeps its blocks, so the old bytes can be put back on a full disk.
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
