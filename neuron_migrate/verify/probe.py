"""Answers whether names and calls fit the libraries of the interpreter that runs this file.

It runs in that interpreter as a script, so it imports nothing but the standard library and, when asked about them, the
libraries. Each line of standard input is a JSON list of uses (``neuron_codemods.library_uses.Use`` as objects); each
line of standard output that bears the sign is a list of the same length: what is wrong with each use, or null.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import warnings
from functools import cache
from typing import Any

SIGN = "neuron-migrate: "
"""What an answer begins with: an interpreter may have something to say of its own when it starts."""


def answer(use: dict[str, Any]) -> str | None:
    """What does not fit, in a sentence without a full stop; None if nothing is wrong or nothing can be said."""
    library = use["dotted"].partition(".")[0]
    found = _find(use["dotted"]) if _is_installed(library) else LookupError(f"{library} is not installed")
    if isinstance(found, LookupError):
        # Once, where the name itself stands: not for each thing that is done with it.
        return str(found) if not use["called"] and not use["member"] else None
    if use["called"]:
        return _misfit(_target(found, use["member"]), use)
    if use["member"] and isinstance(found, type):
        fields = getattr(found, "__dataclass_fields__", None)
        if fields is not None and use["member"] not in fields and not hasattr(found, use["member"]):
            return f"{found.__name__} has no {use['member']}"
    return None


@cache
def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


@cache
def _find(dotted: str) -> Any:
    """The object of a dotted name, or a LookupError that says what is missing."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        except Exception as error:  # a library may fail to import in its own ways
            return LookupError(f"{'.'.join(parts[:cut])} cannot be imported: {type(error).__name__}: {error}")
        for at in range(cut, len(parts)):
            try:
                found = getattr(found, parts[at])
            except AttributeError:
                return LookupError(f"{'.'.join(parts[:at])} has no {parts[at]}{_version(parts[0])}")
            except Exception as error:
                return LookupError(f"{dotted} cannot be imported: {' '.join(str(error).split())}")
        return found
    return LookupError(f"{parts[0]} has no module {dotted}{_version(parts[0])}")


def _version(library: str) -> str:
    version = getattr(sys.modules.get(library), "__version__", None)
    return f" in its version {version}" if isinstance(version, str) else ""


def _target(found: Any, member: str) -> Any:
    if not member:
        return found
    method = getattr(found, member, None) if isinstance(found, type) else None
    # Bound to a stand-in: the signature without self.
    return method.__get__(object()) if inspect.isfunction(method) else None


def _misfit(target: Any, use: dict[str, Any]) -> str | None:
    if target is None:
        return None
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    name = getattr(target, "__qualname__", repr(target))
    keywords = use["keywords"]
    if len(set(keywords)) != len(keywords):
        return f"{name} is given a keyword twice"
    try:
        bind = signature.bind_partial if use["open"] else signature.bind
        bind(*[None] * use["positional"], **dict.fromkeys(keywords))
    except TypeError as error:
        return f"{name}: {error}"
    return _unknown_loading_keyword(target, name, keywords)


def _unknown_loading_keyword(target: Any, name: str, keywords: list[str]) -> str | None:
    """A keyword of ``from_pretrained`` that neither the loader of models knows nor any configuration."""
    owner = getattr(target, "__self__", None)
    if getattr(target, "__name__", "") != "from_pretrained" or not isinstance(owner, type) or not _loads_models(owner):
        return None
    unknown = [keyword for keyword in keywords if keyword not in _loading_keywords()]
    return f"{name}: unknown keywords {unknown}" if unknown else None


def _loads_models(kind: type) -> bool:
    base = _find("transformers.PreTrainedModel")
    return kind.__name__.startswith("AutoModel") or (isinstance(base, type) and issubclass(kind, base))


@cache
def _loading_keywords() -> frozenset[str]:
    """What ``PreTrainedModel.from_pretrained`` names or takes out of its keywords, and what configurations hold."""
    loader = _find("transformers.PreTrainedModel").from_pretrained
    auto = _find("transformers.models.auto.auto_factory._BaseAutoModelClass").from_pretrained
    names = set(inspect.signature(loader).parameters)
    for function in (loader, auto):
        names |= set(re.findall(r"""kwargs\.(?:pop|get)\(\s*["'](\w+)["']""", inspect.getsource(function)))
    configuration = _find("transformers.LlamaConfig")()
    return frozenset(names | {name for name in dir(configuration) if not callable(getattr(configuration, name, None))})


def main() -> None:
    """Answer line by line until the input ends."""
    # Libraries print when they are imported; the answers alone go to the one who asked.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(SIGN + json.dumps([answer(use) for use in json.loads(line)]), file=answers, flush=True)


if __name__ == "__main__":  # pragma: no cover (it is a script in the interpreter that is asked)
    main()
