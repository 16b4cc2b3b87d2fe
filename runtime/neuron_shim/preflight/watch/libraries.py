"""What the script asks of transformers, accelerate and diffusers."""

from __future__ import annotations

import contextlib
import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.preflight.watch.after_import import after_import
from neuron_shim.preflight.watch.models import LOADED_AT, noted
from neuron_shim.preflight.watch.state import Enough
from neuron_shim.simulate.record import callers_line, first_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_shim.preflight.watch.state import State

# What lets accelerate choose the devices; it does not know Neuron (accelerate/utils/modeling.py, get_max_memory).
AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")


def install(state: State) -> None:
    after_import(
        {
            "transformers.trainer": lambda module: _watch_trainer(state, module.Trainer),
            "transformers.modeling_utils": lambda module: _watch_loading(state, module.PreTrainedModel),
            "transformers.generation.utils": lambda module: _watch_generate(state, module.GenerationMixin),
            "transformers.tokenization_utils_base": lambda module: _watch_tokenizers(state, module),
            "accelerate.state": lambda module: _watch_accelerate(state, module.PartialState),
            "diffusers.pipelines.pipeline_utils": lambda module: _watch_loading(state, module.DiffusionPipeline),
        }
    )


def wrapped(owner: Any, name: str) -> Callable[[Callable[..., Any]], None]:
    """Replace a method of a class by a function that is given the original one first."""

    def decorate(replacement: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return replacement(original, *args, **kwargs)

        setattr(owner, name, method)

    return decorate


def _watch_loading(state: State, kind: Any) -> None:
    original = kind.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        device_map, where = kwargs.get("device_map"), callers_line()
        loaded = original(cls, *args, **kwargs)
        if isinstance(device_map, str) and device_map in AUTOMATIC:
            state.note("loading", device_map=device_map, model=cls.__name__, where=where)
            with contextlib.suppress(AttributeError):
                setattr(loaded[0] if isinstance(loaded, tuple) else loaded, LOADED_AT, where)
        return loaded

    kind.from_pretrained = classmethod(from_pretrained)
    if hasattr(kind, "get_compiled_call"):

        @wrapped(kind, "get_compiled_call")
        def get_compiled_call(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
            return noted(state, self, original(self, *args, **kwargs))


def _watch_tokenizers(state: State, module: Any) -> None:
    @wrapped(module.BatchEncoding, "to")
    def to(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        moved = original(self, *args, **kwargs)
        tensors = [value for value in moved.values() if hasattr(value, "device")]
        if any(tensor.device.type == "neuron" for tensor in tensors):
            state.moved_at = callers_line()
        return moved

    def note(made: Any) -> Any:
        ids = made.get("input_ids") if hasattr(made, "get") else made
        if hasattr(ids, "shape"):
            state.prompts[tuple(ids.shape)] = callers_line()
        return made

    for name in ("__call__", "apply_chat_template"):

        @wrapped(module.PreTrainedTokenizerBase, name)
        def tokenize(original: Any, *args: Any, **kwargs: Any) -> Any:
            return note(original(*args, **kwargs))


def _watch_generate(state: State, kind: Any) -> None:
    @wrapped(kind, "generate")
    def generate(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        if state.generating:
            return original(model, *args, **kwargs)
        if not state.in_trainer and state.generated >= state.limit:
            raise Enough
        state.generated += 1
        prompt = next((value for value in (*args, *_prompts(kwargs)) if hasattr(value, "shape")), None)
        shape = () if prompt is None else tuple(prompt.shape)
        config = kwargs.get("generation_config") or model.generation_config
        before, phase = state.calls, state.phase
        state.generating = True
        try:
            result = original(model, *args, **kwargs)
        finally:
            state.generating = False
        state.phase = "generation"
        state.note(
            "generate",
            where=callers_line(),
            prompt=shape,
            prompt_device=None if prompt is None else prompt.device.type,
            model_device=model.device.type,
            made_at=state.prompts.get(shape),
            moved_at=state.moved_at,
            cache=kwargs.get("cache_implementation") or getattr(config, "cache_implementation", None),
            own_cache=type(kwargs["past_key_values"]).__name__ if kwargs.get("past_key_values") is not None else None,
            max_cache_len=kwargs.get("max_cache_len") or getattr(config, "max_cache_len", None),
            forwards=state.calls - before,
            in_trainer=state.in_trainer,
        )
        state.phase = phase
        return result


def _prompts(kwargs: dict[str, Any]) -> list[Any]:
    return [kwargs[name] for name in ("inputs", "input_ids", "input_features", "pixel_values") if name in kwargs]


def _watch_accelerate(state: State, kind: Any) -> None:
    @wrapped(kind, "__init__")
    def init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        used = None if kind._shared_state else first_use()
        original(self, *args, **kwargs)
        if used is not None and self.num_processes == 1:  # several processes have failed by now
            state.note("early", where=used, here=callers_line())


def _watch_trainer(state: State, kind: Any) -> None:
    from transformers import TrainerCallback

    class StopAfter(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
        first = 0

        def on_train_begin(self, args: Any, trainer_state: Any, control: Any, **_: Any) -> None:
            self.first = trainer_state.global_step  # of a run that is resumed

        def on_step_end(self, args: Any, trainer_state: Any, control: Any, **_: Any) -> None:
            if trainer_state.global_step >= self.first + state.limit:
                control.should_training_stop = True

    @wrapped(kind, "__init__")
    def init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        given = kwargs.get("args") or next((one for one in args if hasattr(one, "output_dir")), None)
        output = None if given is None else given.output_dir
        if given is not None:
            given.report_to, given.push_to_hub = [], False
            given.output_dir = str(state.scratch / "trainer")
        original(self, *args, **kwargs)
        self.add_callback(StopAfter)
        self._preflight_output = output

    @wrapped(kind, "train")
    def train(original: Any, self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint is True and self._preflight_output is not None:
            from transformers.trainer_utils import get_last_checkpoint

            resume_from_checkpoint = get_last_checkpoint(self._preflight_output)
        state.in_trainer = True
        try:
            return original(self, resume_from_checkpoint, *args, **kwargs)
        finally:
            state.in_trainer = False

    @wrapped(kind, "evaluation_loop")
    def evaluation_loop(original: Any, self: Any, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        before, state.evaluating = state.evaluating, True
        try:
            return original(self, _Shortened(dataloader, state.limit), *args, **kwargs)
        finally:
            state.evaluating = before

    @wrapped(kind, "save_model")
    def save_model(original: Any, self: Any, output_dir: Any = None, *args: Any, **kwargs: Any) -> Any:
        if output_dir is not None and state.scratch not in Path(output_dir).absolute().parents:
            state.redirected = True
            output_dir = str(state.scratch / "model")
        return original(self, output_dir, *args, **kwargs)

    @wrapped(kind, "predict")
    def predict(original: Any, *args: Any, **kwargs: Any) -> Any:
        original(*args, **kwargs)
        raise Enough  # what comes next counts on predictions for all samples

    for name in ("push_to_hub", "init_hf_repo"):
        setattr(kind, name, lambda *_, **__: None)


class _Shortened:
    """The first batches of a loader."""

    def __init__(self, loader: Any, batches: int) -> None:
        self._loader = loader
        self._batches = batches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._loader), self._batches)

    def __len__(self) -> int:
        return min(self._batches, len(self._loader))
