"""Files of ``torch.save``, read without running a pickle and without loading a tensor.

A file is a zip without compression: ``data.pkl`` describes the values, ``data/N`` hold the bytes of the tensors
(https://docs.pytorch.org/docs/stable/notes/serialization.html). The pickle is interpreted by an unpickler that knows
a handful of names and makes of each tensor a note of where it lies. Any other name in it ends the export.
"""

from __future__ import annotations

import collections
import io
import math
import pickle
import pickletools
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import TORCH_NAMES, bits_of
from neuron_shim.checkpoint.errors import ANEW, ExportError, check_is_file
from neuron_shim.checkpoint.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STORAGES = {
    "FloatStorage": "F32",
    "DoubleStorage": "F64",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
    "UntypedStorage": "",
}
_DTYPES = {name: code for code, name in TORCH_NAMES.items()}
_PLAIN: dict[str, Callable[..., Any]] = {
    "set": set,
    "frozenset": frozenset,
    "list": list,
    "dict": dict,
    "tuple": tuple,
}
MAX_PICKLE = 100_000_000  # bytes; some thousand times what a large model needs


_MEMOIZES = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
DAMAGED = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, MemoryError, RuntimeError),
)
"""What reading a pickle or a zip may raise."""


class Reference:
    """Stands in the file for a tensor that has a file of its own (torch_xla.utils.serialization.TensorReference)."""

    tid: int

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict) or type(state.get("tid")) is not int or not 0 <= state["tid"] < 1 << 32:
            raise pickle.UnpicklingError("a TensorReference has no number")
        self.tid = state["tid"]


class _Storage:
    def __init__(self, dtype: str, start: int, size: int) -> None:
        self.dtype, self.start, self.size = dtype, start, size


def read_torch_file(path: Path) -> Any:
    """The value that was saved, with a ``Stored`` for each tensor and a ``Reference`` where xser left one.

    Raises:
        ExportError: the file is missing, damaged, or holds something that no checkpoint needs.
    """
    return _read(path, _Unpickler)


def _read(path: Path, unpickler: type[_Unpickler]) -> Any:
    try:
        check_is_file(path)
        length = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            return unpickler(path, archive, length).read()
    except FileNotFoundError:
        raise ExportError(f"{path} is missing.") from None
    except zipfile.BadZipFile as error:
        raise ExportError(_no_zip(path)) from error
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror or error}.") from error
    except DAMAGED as error:
        raise ExportError(f"{path} is damaged: its description of the tensors cannot be read ({error}).") from error


def bounded(data: bytes) -> io.BytesIO:
    """A pickle, which is not read without this: the unpickler reserves memory for the highest number of its memo.

    Raises:
        pickle.UnpicklingError: it has numbers that it cannot need, or its opcodes cannot be read.
    """
    try:
        numbers = [int(at or 0) for code, at, _ in pickletools.genops(data) if code.name in _MEMOIZES]
    except (ValueError, OverflowError) as error:
        raise pickle.UnpicklingError(str(error)) from error
    if (memo := max(numbers, default=0)) > len(data):
        raise pickle.UnpicklingError(f"it counts {memo} parts in {len(data)} bytes")
    return io.BytesIO(data)


def read_script_tensors(path: Path) -> dict[str, Stored]:
    """The tensors of a TorchScript file by their paths, its code and compiled parts left aside.

    Raises:
        ExportError: the file is missing or damaged.
    """
    found: dict[str, Stored] = {}
    left, seen = [("", _read(path, _ScriptUnpickler))], set()
    while left:
        name, value = left.pop()
        if isinstance(value, Stored):
            found[name] = value
        elif isinstance(value, (_ScriptObject, dict)) and id(value) not in seen:
            seen.add(id(value))  # one may hold itself
            fields = value if isinstance(value, dict) else value.fields
            left += [(f"{name}.{key}" if name else str(key), inner) for key, inner in reversed(fields.items())]
    return found


def _no_zip(path: Path) -> str:
    with open(path, "rb") as file:
        first = file.read(4)
        length = file.seek(0, io.SEEK_END)
    if not length:
        return f"{path} is empty: it was not written to its end, or the disk was full. {ANEW}"
    if first[:2] == b"PK":
        return f"{path} is cut short or damaged: it has {length} bytes and no table of contents at its end. {ANEW}"
    if first[:1] == b"\x80":
        return f"{path} is a bare pickle, which may run code when it is opened. It is not opened."
    return f"{path} was not written by torch.save: it has {length} bytes and is no zip file."


class _Unpickler(pickle.Unpickler):
    """Data, and notes of where tensors lie; no class or function of the file's choice is ever called."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, length: int) -> None:
        self._path, self._archive, self._length = path, archive, length
        names = archive.namelist()
        self._root = next((name.removesuffix("data.pkl") for name in names if name.count("/") == 1 and
                           name.endswith("/data.pkl")), None)  # fmt: skip
        if self._root is None:
            raise ExportError(f"{path} was not written by torch.save: it has no data.pkl.")
        self._records: dict[str, tuple[int, int]] = {}
        if f"{self._root}byteorder" in names and self._content("byteorder") != b"little":
            raise ExportError(f"{path} was written on a machine with another byte order.")
        super().__init__(bounded(self._content("data.pkl")))

    def read(self) -> Any:
        return self.load()

    def find_class(self, module: str, name: str) -> Any:
        if module in ("builtins", "__builtin__") and name in _PLAIN:
            return _PLAIN[name]
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("_codecs", "encode"):  # how protocol 2 writes bytes
            return self._encoded
        if (module, name) == ("torch_xla.utils.serialization", "TensorReference"):
            return Reference
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _STORAGES[name]
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        if (module, name) == ("torch", "Size"):
            return tuple
        if module == "torch._utils":
            known = {
                "_rebuild_tensor_v2": self._tensor,
                "_rebuild_tensor_v3": self._typed_tensor,
                "_rebuild_parameter": self._first,
                "_rebuild_parameter_with_state": self._first,
            }
            if name in known:
                return known[name]
        raise ExportError(
            f"{self._path} names {module}.{name} in its pickle, which a checkpoint has no use for and which may run "
            f"code: the file is not read. Keep away from it, or find out who wrote it."
        )

    def persistent_load(self, pid: Any) -> Any:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and pid[1] in _STORAGES.values()):
            raise pickle.UnpicklingError("a tensor without storage")
        start, size = self._record(f"data/{pid[2]}")
        needed = int(pid[4]) * (bits_of(pid[1]) // 8 if pid[1] else 1)
        if size < needed:
            raise ExportError(f"{self._path} is damaged: data/{pid[2]} should have {needed} bytes, but has {size}.")
        return _Storage(pid[1], start, size)

    def _content(self, key: str) -> bytes:
        """What ``archive.read`` gives, without its objects: there may be thousands of small files."""
        start, size = self._record(key)
        if size > MAX_PICKLE:
            raise ExportError(f"{self._path} is damaged: {key} in it has {size} bytes, which no checkpoint needs.")
        file: Any = self._archive.fp
        file.seek(start)
        content: bytes = file.read(size)
        if zlib.crc32(content) != self._archive.getinfo(f"{self._root}{key}").CRC:
            raise ExportError(f"{self._path} is damaged: {key} in it does not have its checksum.")
        return content

    def _record(self, key: str) -> tuple[int, int]:
        """Where a part begins in the file, and how many bytes it has."""
        if key not in self._records:
            info = self._archive.getinfo(f"{self._root}{key}")
            if info.compress_type != zipfile.ZIP_STORED:
                raise ExportError(f"{self._path} is compressed, which torch.save never does.")
            file: Any = self._archive.fp
            file.seek(info.header_offset)
            header = file.read(30)
            if len(header) < 30 or header[:4] != b"PK\x03\x04":
                raise ExportError(f"{self._path} is damaged: {info.filename} is not where the table of contents says.")
            start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
            if start + info.file_size > self._length:
                raise ExportError(
                    f"{self._path} is cut short: {info.filename} ends at byte {start + info.file_size}, the file has "
                    f"{self._length}. {ANEW}"
                )
            self._records[key] = start, info.file_size
        return self._records[key]

    def _tensor(self, storage: _Storage, offset: int, size: Any, stride: Any, *_: Any) -> Stored:
        return self._stored(storage, storage.dtype, offset, size, stride)

    def _typed_tensor(
        self, storage: _Storage, offset: int, size: Any, stride: Any, _gradient: Any, _hooks: Any, dtype: str, *_: Any
    ) -> Stored:
        return self._stored(storage, dtype, offset, size, stride)

    # Bound methods, since a pickle may set attributes of the functions that it is given.
    def _first(self, value: Any, *_: Any) -> Any:
        return value

    def _encoded(self, text: str, encoding: str) -> bytes:
        if encoding != "latin1":
            raise pickle.UnpicklingError(f"bytes in {encoding}")
        return text.encode("latin1")

    def _stored(self, storage: _Storage, dtype: str, offset: int, size: Any, stride: Any) -> Stored:
        if dtype not in TORCH_NAMES:
            raise pickle.UnpicklingError(f"a tensor of {dtype}")
        shape, strides = tuple(map(int, size)), tuple(map(int, stride))
        itemsize = bits_of(dtype) // 8
        reach = sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
        last = offset + reach + 1 if math.prod(shape) else offset
        if offset < 0 or min((*shape, *strides), default=0) < 0 or last * itemsize > storage.size:
            raise ExportError(f"{self._path} is damaged: a tensor of {list(shape)} reaches beyond its data.")
        if math.prod(shape) * itemsize > storage.size:
            raise ExportError(f"{self._path} is damaged: a tensor of {list(shape)} has more values than its data.")
        return Stored(self._path, storage.start + offset * itemsize, dtype, shape, strides)


class _ScriptObject:
    """A module or custom object of a TorchScript file: its fields, and no behaviour."""

    def __init__(self, *_: Any) -> None:
        self.fields: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.fields = state if isinstance(state, dict) else {}


class _ScriptUnpickler(_Unpickler):
    """TorchScript names the types of its own modules, and lists as calls."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "__torch__":
            return _ScriptObject
        if module == "torch.jit._pickle" and (name.startswith("build_") or name == "restore_type_tag"):
            return self._first
        return super().find_class(module, name)
