"""Do something to a library when the script imports it, and not before: what a script sets first must count."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Hooks = Mapping[str, Callable[[Any], None]]


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, hooks: Hooks) -> None:
        self._hooks = dict(hooks)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        hook = self._hooks.pop(fullname, None)  # taken out, so that the search below finds the library's own
        if hook is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, hook)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, hook: Callable[[Any], None]) -> None:
        self._loader = loader
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._hook(module)


def after_import(hooks: Hooks) -> None:
    """Call each hook with its module, right after that was executed."""
    sys.meta_path.insert(0, _Finder(hooks))
