"""Write the two tables of ``neuron_codemods.data`` from a survey of the 36 Optimum Neuron releases 0.0.1-0.4.5.

The survey (``api_symbols.tsv`` and ``api_kwargs.tsv``) says which names and keywords the releases had and what is left
of them natively. This program decides what the tool makes of each (its outcome) and says it in the words a user reads.
Where the survey's native name was wrong or no drop-in, a comment that begins with "Correction" says why.

    python tools/build_tables.py SURVEY_FOLDER            write the tables
    python tools/build_tables.py SURVEY_FOLDER --check    exit 1 if the tables on disk differ
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).resolve().parents[1] / "codemods" / "neuron_codemods" / "data"

SYMBOL_COLUMNS = ("module", "symbol", "kind", "first", "last", "category", "outcome", "native", "message")
KEYWORD_COLUMNS = (
    *("owner", "member", "keyword", "first", "last", "ranges", "default", "native", "action", "reason"),
)

Row = dict[str, str]

REWRITTEN, REVIEW, MANUAL = "rewritten", "review", "manual"
DROP = "drop"


class Entry(NamedTuple):
    """What the tool makes of a name. ``native`` of None keeps the survey's; an empty one says that there is none.

    In ``message``, ``{symbol}`` is the old name and ``{native}`` the new dotted one, which is ``{new}`` in ``{home}``.
    """

    outcome: str
    message: str
    native: str | None = None


def rewritten(message: str, native: str | None = None) -> Entry:
    return Entry(REWRITTEN, message, native)


def review(message: str, native: str | None = None) -> Entry:
    return Entry(REVIEW, message, native)


def manual(message: str, native: str | None = None) -> Entry:
    return Entry(MANUAL, message, native)


# --- symbols: sentences that several names share --------------------------------------------------

USE = "Use {native} instead of {symbol}."
RE_EXPORT = "Import {new} from {home}: Optimum Neuron only re-exported it."
TRAINING_MODEL = "Use {native}: the trn_config argument becomes distributed_config=DistributedConfig(...)."
HUB_CACHE = (
    "Delete the uses of {symbol}: there is no compile cache on the Hub. Set TORCH_NEURONX_NEFF_CACHE_DIR to a shared "
    "folder to keep compiled graphs."
)
NO_EXPORT = (
    'Delete the uses of {symbol}: nothing is exported ahead of time. torch.compile(model, backend="neuron", '
    "dynamic=False) compiles on the first call."
)
OLD_SHARDS = (
    "Delete the call for checkpoints that the native Trainer saves: they are whole safetensors already. Shards that "
    "Optimum Neuron wrote cannot be read by {native}: convert them once with neuron-shim export SRC DST."
)
MAIN_PROCESS = (
    "Replace {symbol} with accelerate.PartialState().is_main_process or, in a trainer, "
    "trainer.is_world_process_zero()."
)
PRECISION = (
    'Delete {symbol}: pass mixed_precision="bf16" to accelerate.Accelerator, or bf16=True to TrainingArguments, and '
    "load the model with dtype=torch.float32 to keep fp32 master weights."
)
ATTENTION_SCORES = (
    "Delete the assignment of {symbol}: it patched attention of compiled diffusion models, which native pipelines do "
    "not need."
)
TESTS_ONLY = (
    "Delete the decorator {symbol}, or write unittest.skipUnless with the condition the test needs: it tested for a "
    "package of the old stack."
)
CORES = (
    "Use torch.accelerator.device_count, which counts the logical NeuronCores this process can see: under torchrun "
    "that is one, so read WORLD_SIZE where the number of processes is meant."
)
PARALLEL_PLUGIN = (
    "Use transformers.distributed.DistributedConfig and pass it to from_pretrained: tensor_parallel_size becomes "
    "tp_size and the remaining ranks must be spelled out as fsdp_size or dp_replicate_size."
)
TRAINING_ARGUMENTS = (
    "Use {native}: parallel sizes go to from_pretrained as a DistributedConfig, and defaults that changed are "
    "spelled out."
)
ORPO_CONFIG = (
    "Use trl.experimental.orpo.ORPOConfig, which TRL may change or remove: max_prompt_length, label_pad_token_id and "
    "truncation_mode are gone, and learning_rate, max_length, bf16 and gradient_checkpointing have other defaults."
)
ORPO_TRAINER = (
    "Use trl.experimental.orpo.ORPOTrainer, which TRL may change or remove: pass processing_class instead of "
    "tokenizer and look again at overrides of concatenated_forward and odds_ratio_loss."
)
ADAPTERS = (
    "Use {native}: save_pretrained writes safetensors by default, and the adapter shards of old model-parallel runs "
    "are converted once with neuron-shim export SRC DST. The helpers for pipeline stages are gone."
)
TRAINING_METRICS = (
    "Delete the uses of {symbol}: throughput, MFU and efficiency metrics have no native form. The nearest is "
    "TrainingArguments(include_num_input_tokens_seen=True)."
)
LOAD_SENTENCES = "Use {native} instead of {symbol}: the original model is loaded and compiles on its first call."
VERSION_OF = 'Replace {symbol}() with importlib.metadata.version("%s").'
FLAG_FALSE = "Replace {symbol}() with False and delete the branch it guards: %s."

# --- symbols: names that need words of their own; they win over everything else -------------------

BY_NAME: dict[str, Entry] = {
    # trainers and their arguments
    "NeuronTrainer": rewritten(
        "Use transformers.Trainer: tokenizer is processing_class, and a compute_loss override takes "
        "num_items_in_batch."
    ),
    "TrainiumTrainer": rewritten(
        "Use transformers.Trainer: tokenizer is processing_class, and a compute_loss override takes "
        "num_items_in_batch."
    ),
    **dict.fromkeys(
        ("Seq2SeqNeuronTrainer", "Seq2SeqTrainiumTrainer"),
        review(
            "Use transformers.Seq2SeqTrainer: predict_with_generate no longer pads to a static shape, so set "
            'generation_config.cache_implementation = "static" and pad the prompts, or every length compiles anew.'
        ),
    ),
    **dict.fromkeys(
        (
            *("NeuronTrainingArguments", "TrainiumTrainingArguments"),
            *("Seq2SeqNeuronTrainingArguments", "Seq2SeqTrainiumTrainingArguments"),
        ),
        rewritten(TRAINING_ARGUMENTS),
    ),
    **dict.fromkeys(
        ("NeuronTrainingArgumentsMixin", "TrainiumTrainingArgumentsMixin"),
        manual(
            "Remove {symbol} from the bases and derive from transformers.TrainingArguments alone: its Neuron fields "
            "do not exist."
        ),
    ),
    **dict.fromkeys(
        ("AugmentTrainerForNeuronMixin", "AugmentTrainerForTrainiumMixin"),
        manual("Remove {symbol} from the bases: class My({symbol}, Trainer) becomes class My(Trainer)."),
    ),
    "NeuronSFTConfig": rewritten(
        "Use trl.SFTConfig: max_seq_length is max_length, and defaults that changed are spelled out."
    ),
    "NeuronSFTTrainer": rewritten(
        "Use trl.SFTTrainer: tokenizer is processing_class, and formatting_func returns one string for one example."
    ),
    "NeuronORPOConfig": review(ORPO_CONFIG),
    "NeuronORPOTrainer": review(ORPO_TRAINER),
    # Correction: the survey looked for these two in the top-level namespace of trl only; TRL 1 keeps them here.
    "ORPOConfig": review(ORPO_CONFIG, "trl.experimental.orpo.ORPOConfig"),
    "ORPOTrainer": review(ORPO_TRAINER, "trl.experimental.orpo.ORPOTrainer"),
    # Correction: moved from trl.models to the top-level namespace, not removed.
    "clone_chat_template": rewritten(
        "Import clone_chat_template from trl: Optimum Neuron only re-exported it.", "trl.clone_chat_template"
    ),
    "NeuronHfArgumentParser": rewritten(
        "Use transformers.HfArgumentParser: old defaults are set on it, and it refuses Neuron flags."
    ),
    "TrainiumHfArgumentParser": rewritten(
        "Use transformers.HfArgumentParser: old defaults are set on it, and it refuses Neuron flags."
    ),
    "NeuronTrainerState": rewritten(
        "Use transformers.TrainerState: the fields of the compile cache are gone with the cache."
    ),
    "NeuronDataCollatorForLanguageModeling": review(
        "Use TRL's DataCollatorForLanguageModeling: it pads to the longest example of a batch and not to max_length, "
        "so set SFTConfig(pad_to_multiple_of=...) or packing=True to keep the number of shapes small."
    ),
    "TrainingMetricsCollector": manual(TRAINING_METRICS),
    **dict.fromkeys(
        (
            *("ComponentTimingPlugin", "EfficiencyPlugin", "MFUPlugin", "MetricNames", "MetricPlugin", "MetricUnit"),
            *("MovingAverageWindow", "PluginRegistry", "ThroughputPlugin"),
        ),
        manual(TRAINING_METRICS),
    ),
    "XLAPrefetchIterator": manual(
        "Delete the wrapper and iterate the DataLoader itself: batches move to the device without XLA."
    ),
    "TRL_VERSION": manual(
        'Delete the check: use importlib.metadata.version("trl") where the version itself is needed.'
    ),
    # distributed
    "NeuronAccelerator": rewritten(
        "Use accelerate.Accelerator: the parallel sizes are a ParallelismConfig, and a model that was sharded where "
        "it was loaded is prepared by prepare_model(model, evaluation_mode=True)."
    ),
    "NeuronPartialState": rewritten("Use accelerate.PartialState: it starts the process group by itself."),
    "NeuronAcceleratorState": review(
        "Use accelerate.state.AcceleratorState: trn_config does not exist on it, and distributed_type is "
        "DistributedType.MULTI_NEURON when several processes run."
    ),
    "NeuronAcceleratedOptimizer": rewritten(USE),
    "NeuronAcceleratedScheduler": rewritten(USE),
    "NeuronDistributedType": review(
        "Use accelerate.DistributedType: XLA_FSDP, TENSOR_PARALLELISM and MODEL_PARALLELISM do not exist, and "
        "several processes on Neuron are MULTI_NEURON."
    ),
    "NeuronFullyShardedDataParallelPlugin": review(
        "Use accelerate.FullyShardedDataParallelPlugin, which is the FSDP of torch and takes other arguments. "
        "Sharding with DistributedConfig(fsdp_size=...) at from_pretrained is the supported way on Neuron."
    ),
    # Correction: accelerate.utils.PrecisionType is an enum of strings; neither class can be renamed to it.
    **dict.fromkeys(("AutocastBackend", "MixedPrecisionConfig", "MixedPrecisionMode"), manual(PRECISION, "")),
    # Correction: takes a list, changes it in place and returns it; the old function took and returned one object.
    "broadcast_object": manual(
        "Replace broadcast_object(x, from_process=r) with accelerate.utils.broadcast_object_list([x], "
        "from_process=r)[0]: the native function takes and returns a list."
    ),
    "gather_object": rewritten("Import gather_object from accelerate.utils."),
    "lazy_load_for_parallelism": review(
        "Unwrap the with block and pass distributed_config=DistributedConfig(tp_size=...) to the from_pretrained "
        "inside it. Pipeline parallelism has no native training form."
    ),
    **dict.fromkeys(("ModelParallelismPlugin", "TensorParallelismPlugin"), review(PARALLEL_PLUGIN)),
    "TrainingNeuronConfig": review(PARALLEL_PLUGIN),
    # Correction: the native function reads only what save_pretrained(distributed_checkpoint=True) wrote.
    **dict.fromkeys(
        (
            "consolidate_model_parallel_checkpoints_to_unified_checkpoint",
            "consolidate_tensor_parallel_checkpoints_to_unified_checkpoint",
        ),
        manual(OLD_SHARDS),
    ),
    "make_optimizer_constructor_lazy": manual(
        "Delete the wrapper and use the optimizer class itself: make_optimizer_constructor_lazy(AdamW) becomes AdamW."
    ),
    "SavedModelInTemporaryDirectory": manual(
        "Use tempfile.TemporaryDirectory and save_pretrained: nothing else is needed."
    ),
    "saved_model_in_temporary_directory": manual(
        "Use tempfile.TemporaryDirectory and save_pretrained: nothing else is needed."
    ),
    "allreduce_sequence_parallel_gradients": manual(
        "Delete the call: gradients are reduced by FSDP and tensor parallelism themselves."
    ),
    "SharedDict": manual(
        "Delete the uses of SharedDict: it moved weights between the loading processes of the XLA stack."
    ),
    **dict.fromkeys(
        ("log_level", "log_levels"),
        manual("Use transformers.utils.logging.log_levels and get_verbosity instead of {symbol}."),
    ),
    "torch_xla_safe_save_file": manual("Use safetensors.torch.save_file on tensors moved to the CPU."),
    # models for training
    "is_custom_modeling_model": manual(
        "Replace is_custom_modeling_model(...) with False: no model has a Neuron implementation of its own."
    ),
    "ALL_ATTENTION_FUNCTIONS": manual(
        "Use transformers.AttentionInterface.register to add an attention function: the table of Optimum Neuron held "
        "only the NKI kernel, for which sdpa is the native choice."
    ),
    # Correction: torch has the same function; torch_xla only wrapped it.
    "checkpoint": review(
        "Use torch.utils.checkpoint.checkpoint and say use_reentrant=False: it has no handling of XLA graphs to wrap.",
        "torch.utils.checkpoint.checkpoint",
    ),
    "training": manual(
        "Import the names used from transformers instead of the module: optimum.neuron.models.training has no "
        "counterpart."
    ),
    "auto_models": manual(
        "Import the names used from transformers instead of the module: auto_models has no counterpart."
    ),
    "loss_utils": manual("Delete the uses of the module: the loss of the transformers model is computed natively."),
    "get_model_param_count": review(
        "Use transformers.trainer_pt_utils.get_model_param_count: it counts the parameters of this process and does "
        "not add up tensor or pipeline parallel ranks."
    ),
    **dict.fromkeys(
        (
            "is_logging_process",
            "is_logging_process_method",
            "is_main_worker_for_metrics",
            "is_main_worker_for_metrics_method",
        ),
        # Correction: a property of an object replaces the old function; renaming the import would break calls.
        manual(MAIN_PROCESS),
    ),
    "is_main_worker": manual(
        "Replace is_main_worker() with accelerate.PartialState().is_main_process, and "
        "is_main_worker(global_main=False) with accelerate.PartialState().is_local_main_process."
    ),
    # PEFT
    "get_peft_model": rewritten("Import get_peft_model from peft: the arguments are the same."),
    "orig_get_peft_model": rewritten("Import get_peft_model from peft: the arguments are the same."),
    "get_peft_model_state_dict": rewritten("Import get_peft_model_state_dict from peft."),
    "orig_get_peft_model_state_dict": rewritten("Import get_peft_model_state_dict from peft."),
    "NeuronPeftModel": review(ADAPTERS),
    "NeuronPeftModelForCausalLM": review(ADAPTERS),
    "NeuronLoraModel": rewritten("Use peft.LoraModel: it wraps sharded linear layers without classes of its own."),
    # Correction: the mapping is in peft under the same name.
    "MODEL_TYPE_TO_PEFT_MODEL_MAPPING": rewritten(
        "Import MODEL_TYPE_TO_PEFT_MODEL_MAPPING from peft: Optimum Neuron only re-exported it.",
        "peft.MODEL_TYPE_TO_PEFT_MODEL_MAPPING",
    ),
    # Correction: the survey took both for constants of the compile machinery.
    "PEFT_TYPE_TO_TUNER_MAPPING": review(
        "Use peft.mapping.PEFT_TYPE_TO_TUNER_MAPPING: the mapping of Optimum Neuron knew LoRA only.",
        "peft.mapping.PEFT_TYPE_TO_TUNER_MAPPING",
    ),
    "PEFT_TYPE_TO_MODEL_MAPPING": review(
        "Use peft.mapping.PEFT_TYPE_TO_TUNER_MAPPING, the new name of the mapping: that of Optimum Neuron knew LoRA "
        "only.",
        "peft.mapping.PEFT_TYPE_TO_TUNER_MAPPING",
    ),
    "NEURON_LORA_MODULES": manual("Delete the uses of NEURON_LORA_MODULES: peft has no table of Neuron layers."),
    "use_peft_instead_of_optimum_neuron": manual("Delete the decorator or call: peft is always used."),
    "has_valid_embedding_base_layer": manual("Delete the call: peft decides by itself whether embeddings are saved."),
    "get_original_merged_weights_for_vllm": manual(
        "Call model.merge_adapter() and take model.state_dict() instead, then model.unmerge_adapter() to go on "
        "training."
    ),
    "NxDPPModelWithPeftSupport": manual("Delete the uses of {symbol}: pipeline parallel training has no native form."),
    # devices and availability
    **dict.fromkeys(("get_available_cores", "get_num_neuron_cores"), review(CORES)),
    # Correction: counts the cores in use, which is the number of processes and not of devices.
    "get_num_neuron_cores_used": manual(
        'Replace get_num_neuron_cores_used() with int(os.environ.get("WORLD_SIZE", "1")).', ""
    ),
    **dict.fromkeys(
        ("is_neuronx_available", "is_torch_neuronx_available"),
        review(
            "Use transformers.utils.is_torch_neuron_available: it is true only where a Neuron device is present, not "
            "where the compiler is merely installed."
        ),
    ),
    "is_neuron_available": manual(
        "Delete the branch it guards: it meant torch-neuron on Inf1. Do not rename it to "
        "accelerate.utils.is_neuron_available, which means the native Neuron device.",
        "",
    ),
    "is_torch_xla_available": review(
        "Use transformers.utils.is_torch_xla_available: code that it guards usually calls torch_xla, which must go."
    ),
    "is_neuronx_distributed_available": manual(FLAG_FALSE % "neuronx_distributed is not used any more"),
    "is_transformers_neuronx_available": manual(FLAG_FALSE % "transformers-neuronx is not used any more"),
    "is_precompilation": manual(FLAG_FALSE % "neuron_parallel_compile has no native form"),
    "is_model_officially_supported": manual(
        "Replace is_model_officially_supported(...) with True: the models of transformers are used unpatched."
    ),
    # Correction: importlib.util.find_spec needs the package's name, which the old functions did not take.
    "is_trl_available": manual('Replace is_trl_available() with importlib.util.find_spec("trl") is not None.'),
    "is_vllm_available": manual('Replace is_vllm_available() with importlib.util.find_spec("vllm") is not None.'),
    "is_package_available": manual(
        "Replace is_package_available(name) with importlib.util.find_spec(name) is not None: a minimum version must "
        "be compared separately."
    ),
    **dict.fromkeys(
        ("is_accelerate_available", "is_peft_available"), rewritten("Import {symbol} from transformers.utils.")
    ),
    # Correction: importlib.metadata.version needs the package's name, which the old functions did not take.
    "get_neuroncc_version": manual(
        "Delete the call: neuron-cc is the compiler of Inf1, which has no native form.", ""
    ),
    "get_neuronxcc_version": manual(VERSION_OF % "neuronx-cc"),
    "get_neuronx_distributed_version": manual("Delete the call: neuronx_distributed is not used any more.", ""),
    "get_torch_xla_version": manual("Delete the call: torch_xla is not used any more.", ""),
    "get_torch_version": manual(VERSION_OF % "torch"),
    "get_pinned_version": manual("Replace get_pinned_version(name) with importlib.metadata.version(name)."),
    "__version__": manual(
        "Delete the comparison with an Optimum Neuron release, or read the version of a library with "
        'importlib.metadata.version("transformers").'
    ),
    "__sdk_version__": manual(
        'Delete the check of the Neuron SDK, or read importlib.metadata.version("torch-neuronx").'
    ),
    "get_transformers_version": manual(VERSION_OF % "transformers"),
    "requires_neuron_or_neuronx": review(
        "Use accelerate.test_utils.testing.require_neuron: the test is skipped where no Neuron device is present."
    ),
    "requires_neuronx": review(
        "Use accelerate.test_utils.testing.require_neuron: the test is skipped where no Neuron device is present."
    ),
    # Correction: meant Inf1 and its package torch-neuron, so a rename would run an Inf1 test on another device.
    "requires_neuron": manual(
        "Delete the test: requires_neuron meant torch-neuron on Inf1, which has no native form.", ""
    ),
    "slow": rewritten("Import slow from transformers.testing_utils."),
    # small utilities
    # Correction: a built-in function stands for none of these two.
    "DTYPE_MAPPER": manual(
        "Write the dtype itself, such as torch.bfloat16, or getattr(torch, name) for a name like bfloat16.", ""
    ),
    "map_torch_dtype": manual(
        "Write the dtype itself, such as torch.bfloat16, or getattr(torch, name) for a name like bfloat16.", ""
    ),
    # Correction: torch refuses to start a second process group; the old function first looked whether there is one.
    "init_process_group": manual(
        "Delete the call: accelerate and transformers start the process group. Where neither runs, call "
        'torch.distributed.init_process_group("neuron").'
    ),
    "neuron_scaled_dot_product_attention": review(
        "Use torch.nn.functional.scaled_dot_product_attention and delete the line that patches torch with it: "
        "dropout_p and is_causal cannot be None."
    ),
    "get_checkpoint_shard_files": rewritten("Import get_checkpoint_shard_files from transformers.utils.hub."),
    "skip_first_batches": rewritten("Import skip_first_batches from accelerate."),
    "find_tied_parameters": rewritten("Import find_tied_parameters from accelerate.utils."),
    "set_verbosity": rewritten("Import set_verbosity from transformers.utils.logging."),
    "string_to_bool": manual('Write the test itself: s.lower() in ("1", "true", "yes").'),
    "maybe_load_preprocessors": manual(
        "Load the preprocessors with AutoTokenizer.from_pretrained or AutoProcessor.from_pretrained."
    ),
    "maybe_save_preprocessors": manual(
        "Save the preprocessors with tokenizer.save_pretrained or processor.save_pretrained."
    ),
    "get_stable_diffusion_configs": manual(
        "Read the configurations from the loaded pipeline, such as pipe.unet.config."
    ),
    "image_uri": manual(
        "Look the container image up with the SageMaker SDK or write its address: the Hugging Face Neuron images "
        "hold Optimum Neuron."
    ),
    "ecr": manual(
        "Look container images up with the SageMaker SDK or write their address: the module ecr has no counterpart."
    ),
    "version": manual("Read versions with importlib.metadata.version instead of the module optimum.neuron.version."),
    "Patcher": manual(
        "Replace Patcher([(name, obj)]) with unittest.mock.patch(name, obj), once for each entry, or delete it with "
        "the code it patched."
    ),
    "get_neuron_major": manual("Delete the call: device numbers under /dev are not needed natively."),
    "FirstAndLastDataset": manual(
        "Use the whole dataset: FirstAndLastDataset only served to extract graphs for the compiler."
    ),
    "DataclassParser": manual(
        "Use transformers.HfArgumentParser: DataclassParser filled the export arguments of compiled models."
    ),
    "NeuronArgumentParser": manual("Delete the uses of {symbol}: it parsed the shapes and flags of an export."),
    "InputShapesArguments": manual(
        "Delete the uses of {symbol}: static shapes are set where inputs are padded, not at load time."
    ),
    "ImageEncoderArguments": manual(
        "Delete the uses of {symbol}: shapes of the image encoder follow from its own configuration."
    ),
    "LoRAAdapterArguments": manual(
        "Delete lora_args and call pipe.load_lora_weights(id, weight_name=..., adapter_name=...) for each adapter, "
        "then pipe.set_adapters(names, adapter_weights=scales)."
    ),
    "IPAdapterArguments": manual(
        "Delete ip_adapter_args and call pipe.load_ip_adapter(id, subfolder=..., weight_name=...), then "
        "pipe.set_ip_adapter_scale(scale)."
    ),
    "DiffusersPretrainedConfig": manual("Use the configuration of the component itself, such as pipe.unet.config."),
    **dict.fromkeys(
        ("check_compiler_compatibility", "check_compiler_compatibility_for_stable_diffusion"),
        manual("Delete the call: models are not tied to the compiler version that exported them."),
    ),
    # inference
    **dict.fromkeys(
        ("NeuronModelForEmbedding", "NeuronModelForSentenceTransformers", "NeuronSentenceTransformers"),
        rewritten(LOAD_SENTENCES),
    ),
    "is_sentence_transformer_model": manual(
        "Delete the call: load the model with SentenceTransformer where it is one."
    ),
    "FeatureExtractionPipeline": manual(
        "Use transformers.FeatureExtractionPipeline, or SentenceTransformer.encode where sentence embeddings are "
        "meant."
    ),
    "pipeline": rewritten("Use {native}: it takes the original model and the device, and nothing about a compiler."),
    "load_pipeline": manual("Use transformers.pipeline: its loader is not for use by others."),
    "NEURONX_SUPPORTED_TASKS": manual("Delete the uses of {symbol}: transformers.pipeline runs every task it knows."),
    "check_model_type": manual("Delete the call: pipelines of transformers check the model themselves."),
    "NeuronModelForConditionalGeneration": manual(
        "Use transformers.AutoModelForSeq2SeqLM: the abstract base of compiled encoder-decoder models has no "
        "counterpart."
    ),
    **dict.fromkeys(
        ("NeuronEncoder", "NeuronDecoder"),
        manual("Use model.get_encoder() or model.get_decoder() of the original model."),
    ),
    **dict.fromkeys(
        ("NeuronTracedModel", "NeuronBaseModel", "NeuronModel", "NeuronPreTrainedModel"),
        manual(
            "Use transformers.PreTrainedModel in isinstance checks and as a base. A folder or Hub repository that "
            "holds model.neuron cannot be loaded: go back to the original checkpoint."
        ),
    ),
    **dict.fromkeys(
        ("NxDNeuronConfig", "HloNeuronConfig"),
        manual(
            "Pass distributed_config=DistributedConfig(tp_size=tp_degree) and dtype to from_pretrained and delete "
            "the rest: the other fields only steered the compiler."
        ),
    ),
    "get_exporter": manual(NO_EXPORT),
    "register_neuron_config": manual(
        "Delete the uses of {symbol}: there is no Neuron configuration file to register."
    ),
    "TokenSelector": manual(
        "Call model.generate() instead, or apply a LogitsProcessorList and torch.multinomial in a loop of your own."
    ),
    **dict.fromkeys(
        ("NeuronGenerationMixin", "GeneralNeuronGenerationMixin"),
        manual(
            'Remove {symbol} from the bases and call generate(cache_implementation="static"): greedy_search, '
            "beam_search and the like are gone from transformers 5."
        ),
    ),
    "FusedLogitsWarper": manual(
        "Use a LogitsProcessorList of TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper from "
        "transformers."
    ),
    # Correction: returns the values and indices of the kept tokens instead of masked scores, so it is no drop-in.
    "FastTopKLogitsWarper": manual(
        "Use transformers.TopKLogitsWarper and adapt the caller: it returns scores of the whole vocabulary with the "
        "rest masked, where FastTopKLogitsWarper returned the kept values and their indices."
    ),
    # export
    **dict.fromkeys(
        ("export", "export_models", "export_neuron", "export_neuronx", "main_export", "trace_neuronx"),
        manual(
            'Delete the call and compile at run time: torch.compile(model.to("neuron"), backend="neuron", '
            "dynamic=False) compiles on the first call and writes no folder."
        ),
    ),
    **dict.fromkeys(
        ("validate_model_outputs", "validate_models_outputs"),
        manual("Compare the outputs of the CPU and of the device with torch.testing.assert_close."),
    ),
    # cache
    **dict.fromkeys(
        ("get_neuron_cache_path", "set_neuron_cache_path"),
        manual(
            "Use the environment variable TORCH_NEURONX_NEFF_CACHE_DIR instead: --cache_dir in NEURON_CC_FLAGS has "
            "no effect."
        ),
    ),
    "ServeCommand": manual("Serve the model with vLLM and its Neuron plugin: vllm serve MODEL."),
    "ConsolidateCommand": manual(OLD_SHARDS.replace("{native}", "transformers")),
}
# --- symbols: rows that share a note --------------------------------------------------------------

BY_NOTE: tuple[tuple[str, Entry], ...] = (
    (
        "Constant of the compiled-artefact",
        manual("Delete the uses of {symbol}: this constant belongs to the old export, cache and checkpoint code."),
    ),
    ("Compile-cache helper", manual(HUB_CACHE)),
    ("Hub NEFF cache", manual(HUB_CACHE)),
    (
        "Hub compile-cache callback",
        manual("Remove {symbol} from callbacks: there is no compile cache on the Hub to fill."),
    ),
    (
        "Lists compiled configurations",
        manual(
            "Delete the call and write batch_size and sequence_length yourself: there is no compile cache on the Hub "
            "to look them up in."
        ),
    ),
    (
        "Monkey-patch / compiler-flag",
        manual(
            "Delete the uses of {symbol}: it patched or configured the XLA stack. Compiler options go into "
            "NEURON_CC_FLAGS and NEURON_COMPILER_OPT_LEVEL."
        ),
    ),
    (
        "optimum-cli command class",
        manual("Delete the uses of {symbol}: this command of optimum-cli does not exist any more."),
    ),
    ("Attention-score patch", manual(ATTENTION_SCORES)),
    (
        "Cache-population runner",
        manual("Delete the uses of {symbol}: it ran the example scripts to fill the compile cache."),
    ),
    ("Export config helper", manual(NO_EXPORT)),
    ("Ahead-of-time", manual(NO_EXPORT)),
    ("Per-architecture export", manual(NO_EXPORT)),
    ("Weights/NEFF separation", manual("Use model.load_state_dict: weights are not part of a compiled file.")),
    (
        "pytest marker helpers",
        manual("Delete the uses of {symbol}: write a pytest marker of your own where tests need one."),
    ),
    (
        "torch_neuronx.DataParallel",
        manual("Run one process for each core with torchrun: torch_neuronx.DataParallel does not exist any more."),
    ),
    # diffusion
    ("Encoder/decoder were separate", manual("Use pipe.vae, which is one {native} for encoding and decoding.")),
    (
        "Component wrapper; natively pass controlnet",
        manual("Pass controlnet={native}.from_pretrained(controlnet_id) to the pipeline."),
    ),
    (
        "Component wrapper",
        manual("Use the component of the loaded pipeline, which is a plain {native} or a class like it."),
    ),
    (
        "Base class, used for isinstance",
        rewritten("Use diffusers.DiffusionPipeline in isinstance checks and annotations."),
    ),
    ("Internal mixin", manual("Remove {symbol} from the bases: {native} already does what it added.")),
    (
        "Declared in _import_structure",
        manual("Delete the import: {symbol} never existed, so importing it always failed. Use pipe.load_ip_adapter."),
    ),
    (
        "Diffusers IGNORES",
        rewritten(
            "Use {native}: what was fixed at export becomes arguments of each call, and LoRA, ControlNet and "
            "IP-adapter weights are loaded explicitly."
        ),
    ),
    # distributed
    (
        "Hand-written TP layers",
        manual(
            "Delete the uses of {symbol}: describe the sharding in the model's tp_plan (colwise, rowwise) and load "
            "it with DistributedConfig(tp_size=...)."
        ),
    ),
    (
        "Model-parallel plumbing",
        manual(
            "Delete the uses of {symbol}: from_pretrained(distributed_config=DistributedConfig(tp_size=...)) shards "
            "by the model's tp_plan."
        ),
    ),
    (
        "Per-parallel-group collectives",
        manual(
            "Use the object collectives of torch.distributed with group=mesh.get_group(name) of a DeviceMesh instead "
            "of {symbol}."
        ),
    ),
    (
        "Re-tying after device moves",
        manual("Use model.tie_weights(), or delete the call: moving a model keeps its weights tied."),
    ),
    (
        "Returns an in-memory state dict",
        manual(
            "Convert the old shards once with neuron-shim export SRC DST and load the result: nothing native reads "
            "shards into memory."
        ),
    ),
    (
        "Use model.gradient_checkpointing_enable",
        manual("Use model.gradient_checkpointing_enable(), or TrainingArguments(gradient_checkpointing=True)."),
    ),
    (
        "Vocab-parallel loss",
        manual(
            "Use the model's own loss, whose logits are gathered, or torch.distributed.tensor.parallel.loss_parallel "
            "for sharded logits."
        ),
    ),
    (
        "Explicit parallelize()/registry",
        manual(
            "Delete the explicit parallelizer and pass distributed_config=DistributedConfig(tp_size=...) to "
            "from_pretrained."
        ),
    ),
    # models
    (
        "Neuron re-implementation",
        manual(
            "Use {native} of the same architecture: its constructor takes the plain configuration and no compiler or "
            "parallel settings."
        ),
    ),
    (
        "Registry decorator",
        manual(
            "Use AutoModelForCausalLM.register(config_class, model_class) with a plain PreTrainedModel that declares "
            "a tp_plan."
        ),
    ),
    (
        "Weight-layout transformation",
        manual(
            "Delete the uses of {symbol}: from_pretrained converts and shards the weights itself when it loads them."
        ),
    ),
    (
        "Base of the training model classes",
        manual(
            "Derive from transformers.PreTrainedModel and describe the sharding in a tp_plan: {symbol} has no "
            "counterpart."
        ),
    ),
    (
        "Internal Neuron modeling code",
        manual(
            "Delete the uses of {symbol} and build on the transformers or diffusers class of the same model: it was "
            "internal to Optimum Neuron."
        ),
    ),
    (
        "Internal compiler/decoder backend",
        manual(
            "Delete the uses of {symbol}: it belonged to the compiled decoder. Load the model with transformers and "
            "call generate()."
        ),
    ),
    ("Registry of compiled classes", manual("Use the Auto classes of transformers instead of {symbol}.")),
    (
        "Reads/writes neuron_config.json",
        manual(
            "Delete the uses of {symbol}: there is no neuron_config.json natively. Its checkpoint_id names the "
            "original model to load."
        ),
    ),
    ("LoRA over", manual("Use {native}, or none at all: peft wraps sharded layers itself.")),
    ("Base LoRA layer", manual("Use {native} in isinstance checks: peft wraps sharded layers itself.")),
    # utilities
    (
        "Counts /dev/neuron*",
        manual("Use torch.accelerator.device_count() for the visible logical cores: nothing native counts devices."),
    ),
    (
        "EC2 instance detection",
        manual("Delete the call, or read the instance type from the EC2 metadata service: nothing native detects it."),
    ),
    (
        "Reads device memory from sysfs",
        manual("Use torch.neuron.memory_allocated() and torch.neuron.memory_stats(), or the neuron-monitor tool."),
    ),
    (
        "Patching helpers",
        manual("Delete {symbol} together with what it patched: the models of transformers are used unpatched."),
    ),
    (
        "vLLM platform plugin",
        manual("Delete the uses of {symbol}: vLLM runs on Neuron with the plugin that AWS publishes."),
    ),
)

# --- symbols: names that share a shape, for the notes that say next to nothing --------------------

BY_SHAPE: tuple[tuple[str, Entry], ...] = (
    (r"requires_\w+$", manual(TESTS_ONLY)),
    (
        r"(Dummy\w+|\w*Dummy\w*Generator)$",
        manual("Delete the uses of {symbol}: dummy inputs were needed for the export only."),
    ),
    (r"", manual("Delete the uses of {symbol}, or copy the helper into your project: nothing native replaces it.")),
)

VAGUE_NOTES = ("Internal.", "Internal helper.", "Submodule object")

# --- symbols: the compiled classes and the XLA objects --------------------------------------------

TRACED = "export=True and every static-shape"
COMPILED_LLM = "from_pretrained(export=True, batch_size"
XLA_ALIAS = re.compile(r"Fallback alias of ([\w.]+) \(Neuron/XLA SDK\)")

LOAD = "Use {native} instead of {symbol}: the original model is loaded and compiles on its first call."
LOAD_LLM = "Use {native} instead of {symbol}: the original model is loaded, and generate() compiles the decoding step."
LOAD_CLASS = (
    "Load the original model with {native} on device_map=neuron_shim.neuron_device(): its from_pretrained takes no "
    "compiler or "
    "shape arguments."
)
XLA_ADVICE: tuple[tuple[str, str], ...] = (
    (r"zero_redundancy", "shard the optimizer with FSDP2, or DistributedConfig(fsdp_size=...)"),
    (r"^torch_xla\.", 'use torch itself, with torch.device("neuron") for the device and no mark_step'),
    (
        r".*\.pipeline\b",
        "pipeline parallel training has no native form, so shard with DistributedConfig(tp_size=..., fsdp_size=...)",
    ),
    (r"flash_attn", 'load the model with attn_implementation="sdpa"'),
    (r"parallel_state", "ask torch.distributed or the DeviceMesh of the model for ranks and sizes"),
    (r"mappings", "the model's tp_plan places the collectives"),
    (r"get_local_world_size", 'read int(os.environ["LOCAL_WORLD_SIZE"])'),
    (r"move_model_to_device", "call model.to(device)"),
    (r"", "shard plain torch.nn layers with the model's tp_plan and DistributedConfig(tp_size=...)"),
)


def first_match(table: Sequence[tuple[str, str]], text: str) -> str:
    """The value of the first pattern that matches; every table ends in a pattern that always does."""
    return next(value for pattern, value in table if re.search(pattern, text))


def of_alias(row: Row) -> Entry | None:
    """A re-exported name of another library means that library's object, whatever else is called so."""
    return rewritten(RE_EXPORT) if row["notes"].startswith("Alias/fallback stub") else None


def of_xla(row: Row) -> Entry | None:
    found = XLA_ALIAS.match(row["notes"])
    if found is None:
        return None
    target = found.group(1)
    advice = first_match(XLA_ADVICE, target)
    return manual(f"Replace {{symbol}}, which is {target} of the XLA stack: {advice}.")


def of_compiled_class(row: Row) -> Entry | None:
    if (
        row["category"] != "model-inference"
        or row["action"] != "rewrite"
        or not row["native"].startswith("transformers.")
    ):
        return None
    if row["notes"].startswith(TRACED):
        return rewritten(LOAD)
    return rewritten(LOAD_LLM) if row["notes"].startswith(COMPILED_LLM) else manual(LOAD_CLASS)


def of_training_class(row: Row) -> Entry | None:
    """A model class of ``optimum.neuron.models.training``, which is the transformers class with one argument more."""
    if row["category"] == "model-training" and row["action"] == "rewrite" and row["native"].count(".") == 1:
        return rewritten(TRAINING_MODEL) if row["native"].startswith("transformers.") else None
    return None


def of_name(row: Row) -> Entry | None:
    return BY_NAME.get(row["symbol"])


def of_note(row: Row) -> Entry | None:
    return next((entry for prefix, entry in BY_NOTE if row["notes"].startswith(prefix)), None)


def of_shape(row: Row) -> Entry | None:
    if not row["notes"].startswith(VAGUE_NOTES):
        return None
    return next(entry for pattern, entry in BY_SHAPE if re.match(pattern, row["symbol"]))


SOURCES: tuple[Callable[[Row], Entry | None], ...] = (
    *(of_alias, of_compiled_class, of_training_class, of_name, of_xla, of_note, of_shape),
)


def entry_of(row: Row) -> Entry:
    entry = next((found for source in SOURCES if (found := source(row)) is not None), None)
    if entry is None:
        raise ValueError(f"no words for {row['module']}.{row['symbol']}: {row['notes']!r}")
    return entry


def symbol_row(row: Row) -> Row:
    entry = entry_of(row)
    native = row["native"] if entry.native is None else entry.native
    native = "" if native == MANUAL else native
    home, _, new = native.rpartition(".")
    message = entry.message.format(symbol=row["symbol"], native=native, home=home, new=new)
    return {
        "module": row["module"],
        "symbol": row["symbol"],
        "kind": row["kind"],
        "first": row["first_version"],
        "last": row["last_version"],
        "category": row["category"],
        "outcome": entry.outcome,
        "native": native,
        "message": message,
    }


# --- keywords -------------------------------------------------------------------------------------

OWNERS: dict[str, str] = {
    "TrainingArguments family": "training_arguments",
    "NeuronSFTConfig": "sft_config",
    "NeuronORPOConfig": "orpo_config",
    "NeuronTrainer": "trainer",
    "NeuronSFTTrainer": "sft_trainer",
    "NeuronORPOTrainer": "orpo_trainer",
    "TrainingNeuronConfig / ModelParallelismPlugin / TensorParallelismPlugin": "training_config",
    "MixedPrecisionConfig": "mixed_precision_config",
    "NeuronAccelerator": "accelerator",
    "models.training model classes": "training_model",
    "lazy_load_for_parallelism": "lazy_load",
    "make_optimizer_constructor_lazy": "lazy_optimizer",
    "Parallelizer": "parallelizer",
    "consolidate_model_parallel_checkpoints_to_unified_checkpoint": "consolidate",
    "LoraConfig (peft, used beside)": "lora_config",
    "NeuronPeftModel": "peft_model",
    "NeuronModelForX traced classes (encoder/vision/audio/seq2seq/sentence/diffusion)": "traced_model",
    "Neuron diffusion pipelines": "diffusion",
    "NeuronModelForCausalLM (inference)": "causal_lm_inference",
    "NxDNeuronConfig": "nxd_config",
    "pipeline": "pipeline",
    "NeuronHfArgumentParser": "argument_parser",
    "get_hub_cached_entries": "hub_cached_entries",
    "get_hub_cached_models": "hub_cached_models",
    "synchronize_hub_cache": "synchronize_hub_cache",
    "hub_neuronx_cache": "hub_neuronx_cache",
    "patch_neuron_cc_wrapper": "neuron_cc_wrapper",
    "optimum.exporters.neuron.export": "export",
    "optimum.exporters.neuron.export_models": "export_models",
    "optimum.exporters.neuron.main_export": "main_export",
    "TokenSelector": "token_selector",
    "optimum.neuron.utils.ecr.image_uri": "image_uri",
}

KINDS = {"kwarg": "keyword", "legacy-kwarg": "legacy", "method": "member", "attribute": "member"}
"""Methods and attributes are one kind: the survey does not tell them apart reliably."""

MEMBERS: dict[str, str] = {
    "parameters()": "parameters",
    "push_to_hub(save_directory, repository_id=)": "push_to_hub",
    "prefill/forward (input_ids, cache_ids, start_ids)": "prefill|forward",
}
"""Members that the survey names together with their arguments; alternatives are joined by a bar."""

NATIVE: dict[str, str] = {
    "training_arguments tensor_parallel_size=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "training_arguments pipeline_parallel_size=": "",
    "training_arguments zero_1=": "transformers.distributed.DistributedConfig(fsdp_size=N)",
    "training_arguments disable_embedding_parallelization=": "",
    "training_arguments fuse_qkv=": "",
    "training_arguments stochastic_rounding_enabled=": "NEURON_RT_STOCHASTIC_ROUNDING_EN=1",
    "training_arguments optimizer_use_master_weights=": "dtype=torch.float32",
    "training_arguments warmup_ratio=": "warmup_steps",
    "training_arguments logging_dir=": "TENSORBOARD_LOGGING_DIR",
    "training_arguments fsdp=": "fsdp_config",
    "training_arguments trn_config": "transformers.distributed.DistributedConfig",
    "training_arguments tensor_parallel_size": "",
    "training_arguments overwrite_output_dir": "",
    "training_arguments world_size": "world_size // tp_size",
    "training_arguments train_batch_size": "",
    "training_arguments resume_from_checkpoint": "",
    "training_config tensor_parallel_size=": "tp_size",
    "training_config pipeline_parallel_size=": "pp_size",
    "training_config parallelize_embeddings=": "",
    "training_config checkpoint_dir=": "resume_from_checkpoint",
    "training_config gradient_checkpointing=": "gradient_checkpointing",
    "training_config data_parallel_size": "dp_size",
    "trainer concatenated_forward": "concatenated_forward",
    "trainer compute_loss": "compute_loss",
    "traced_model torch_dtype=": "dtype",
    "traced_model to": "to",
    "causal_lm_inference parameters": "parameters",
    "causal_lm_inference push_to_hub": "push_to_hub",
    "accelerator trn_config=": "parallelism_config",
    "accelerator mp_plugin=": "parallelism_config",
    "accelerator tp_plugin=": "parallelism_config",
    "accelerator mixed_precision_config=": 'mixed_precision="bf16"',
    "mixed_precision_config mode=": 'mixed_precision="bf16"',
    "mixed_precision_config optimizer_use_master_weights=": "dtype=torch.float32",
    "lora_config target_modules=": "target_modules",
    "lazy_load tensor_parallel_size=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "trainer mp_enabled": "",
    "traced_model audio_sequence_length=": 'padding="max_length"',
    "traced_model sequence_length=": 'padding="max_length"',
    "traced_model auto_cast=": "dtype=torch.bfloat16",
    "traced_model tensor_parallel_size=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "traced_model output_attentions=": "output_attentions",
    "traced_model output_hidden_states=": "output_hidden_states",
    "traced_model height=": "height",
    "traced_model width=": "width",
    "traced_model num_beams=": "num_beams",
    "traced_model num_images_per_prompt=": "num_images_per_prompt",
    "traced_model num_image_per_prompt=": "num_images_per_prompt",
    "traced_model model": "",
    "traced_model preprocessors": "transformers.AutoTokenizer",
    "traced_model push_to_hub": "push_to_hub",
    "diffusion controlnet_ids=": "controlnet=ControlNetModel.from_pretrained(id)",
    "diffusion vae_encoder": "vae.encode",
    "diffusion vae_decoder": "vae.decode",
    "pipeline auto_cast_type=": "dtype",
    "pipeline compiler_args=": "dtype",
    "pipeline tensor_parallel_size=": "model_kwargs",
    "pipeline num_cores=": "model_kwargs",
    "nxd_config tp_degree=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "nxd_config ep_degree=": "transformers.distributed.DistributedConfig(ep_size=N)",
    "causal_lm_inference num_cores=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "causal_lm_inference tensor_parallel_size=": "transformers.distributed.DistributedConfig(tp_size=N)",
    "causal_lm_inference sequence_length=": "max_length",
    "causal_lm_inference prefill|forward": "forward",
    "consolidate checkpoint_dir=": "",
    "consolidate output_dir=": "",
    "accelerator zero_1=": "transformers.distributed.DistributedConfig(fsdp_size=N)",
    "lazy_optimizer optimizer_cls=": "",
    "training_model from_pretrained.attn_implementation=": 'attn_implementation="sdpa"',
}
"""Native names for the machine, where the survey's are prose. A key is an owner and a ``place``."""

EXPORT_REASON = "Delete the call: nothing is exported ahead of time, and torch.compile compiles on the first call."
HUB_REASON = "Delete the whole call: there is no compile cache on the Hub."
METRICS_REASON = "Delete it: these metrics have no native form; the nearest is include_num_input_tokens_seen."
SILENT = "Spell it out: the native default is %s, the old one was %s."
THROTTLE = "Delete it: weights are streamed when they are loaded, so host memory needs no throttle."
KV_HEADS = "Delete it when it is None; otherwise lower tp_size until it divides num_key_value_heads."
FP32_MASTERS = (
    "Load the model with dtype=torch.float32 and keep bf16=True: that is the native way to keep fp32 master weights."
)
NO_PIPELINE = (
    "Delete it when it is 1; otherwise plan anew with tensor parallelism and FSDP, because pipeline parallel "
    "training has no native form."
)
PIPELINE_MEMBER = "Rewrite the training loop: wrapped pipeline models have no native form."
EXPLICIT = "Delete the explicit parallelizer and pass DistributedConfig to from_pretrained."
FP32_GRADIENTS = "Delete it: with fp32 weights gradients are accumulated in fp32."
DIFFUSERS_IGNORES = (
    "Loaded before the pipeline and given to it: diffusers ignores the old keyword with only a warning."
)
LORA_STEPS = "Becomes pipe.load_lora_weights, set_adapters and fuse_lora after the load, as the export fused them."
IP_ADAPTER_STEPS = "Becomes pipe.load_ip_adapter and pipe.set_ip_adapter_scale after the load."
COMPILE_TIME = "Delete it: it only steered the compiler."
COMPILED_FILE = "Delete it: it said where the compiled model lies."
SHAPE = "Delete it and keep the shape of the inputs fixed where they are made: every new shape compiles anew."
CORES_TO_RANKS = (
    "Load with DistributedConfig(tp_size=N) and start with torchrun --nproc_per_node N: one process used to drive "
    "all cores, so guard prints and writes by rank."
)

REASONS: dict[str, str] = {
    "training_arguments tensor_parallel_size=": (
        "Delete it when it is 1; otherwise move it to from_pretrained: tp_size times fsdp_size must be WORLD_SIZE, "
        "and tp_size must divide num_key_value_heads."
    ),
    "training_arguments pipeline_parallel_size=": NO_PIPELINE,
    "training_arguments pipeline_parallel_num_microbatches=": (
        "Delete it: with pipeline parallelism the old trainer multiplied the batch size by "
        "gradient_accumulation_steps, so check the batch size."
    ),
    "training_arguments zero_1=": (
        "Shard with DistributedConfig(fsdp_size=...), which also shards gradients and weights with the same maths: "
        "ZeRO-1 has no native form, and since 0.4.0 it was on by default."
    ),
    "training_arguments disable_embedding_parallelization=": (
        "Delete it: the model's tp_plan decides whether embeddings are sharded."
    ),
    "training_arguments sequence_parallel_enabled=": (
        "Delete it: sequence parallelism is not wired up natively, so activations take more memory."
    ),
    "training_arguments disable_sequence_parallel=": "Delete it: natively sequence parallelism is always off.",
    "training_arguments neuron_cc_optlevel=": "Delete it: set NEURON_COMPILER_OPT_LEVEL in the environment instead.",
    "training_arguments kv_size_multiplier=": KV_HEADS,
    "training_arguments num_ranks_per_loading_step=": THROTTLE,
    "training_arguments num_local_ranks_per_step=": THROTTLE,
    "training_arguments use_xser=": "Delete it: checkpoints are safetensors, and old shards must be converted first.",
    "training_arguments async_save=": "Delete it: saving blocks natively.",
    "training_arguments fuse_qkv=": "Delete it: fusing was a layout of the weights and did not change results.",
    "training_arguments recompute_causal_mask=": (
        "Delete it and look at the padding: the old default ignored the attention mask, natively padding is masked."
    ),
    "training_arguments skip_cache_push=": "Delete it: there is no compile cache on the Hub.",
    "training_arguments half_precision_backend=": (
        "Delete it: transformers 5 has removed it. Load the weights in fp32 and keep bf16=True, which autocasts."
    ),
    "training_arguments use_autocast=": (
        "Delete it: bf16=True always autocasts natively. Load the weights in fp32, which keeps the fp32 masters of "
        "the old optimizer."
    ),
    "training_arguments stochastic_rounding_enabled=": (
        "Delete it and prefer fp32 weights with bf16=True; for bf16 weights set NEURON_RT_STOCHASTIC_ROUNDING_EN=1 "
        "in the environment."
    ),
    "training_arguments optimizer_use_master_weights=": FP32_MASTERS,
    "training_arguments optimizer_use_fp32_grad_acc=": FP32_GRADIENTS,
    "training_arguments dataloader_prefetch_size=": (
        "Delete it: dataloader_prefetch_factor counts batches for each worker and needs dataloader_num_workers."
    ),
    "training_arguments enable_throughput_metrics=": METRICS_REASON,
    "training_arguments enable_mfu_metrics=": METRICS_REASON,
    "training_arguments enable_efficiency_metrics=": METRICS_REASON,
    "training_arguments metrics_window_size=": METRICS_REASON,
    "training_arguments per_device_train_batch_size=": SILENT % ("8", "1"),
    "training_arguments per_device_eval_batch_size=": SILENT % ("8", "1"),
    "training_arguments optim=": SILENT % ("adamw_torch_fused", "adamw_torch"),
    "training_arguments report_to=": SILENT % ("none", "all"),
    "training_arguments average_tokens_across_devices=": (SILENT % ("True", "False"))
    + " It changes the scale of the loss.",
    "training_arguments log_level=": SILENT % ("passive", "info"),
    "training_arguments log_level_replica=": (SILENT % ("warning", "silent"))
    + ' Write "critical": "silent" is refused.',
    "training_arguments gradient_checkpointing=": "Keep it: transformers 5 also calls it activation_checkpointing.",
    "training_arguments overwrite_output_dir=": (
        "Delete it: transformers 5 has removed it, and reading it from the arguments fails."
    ),
    "training_arguments warmup_ratio=": (
        "Use warmup_steps, which takes a fraction below 1 as a ratio; a ratio of exactly 1.0 would mean one step."
    ),
    "training_arguments logging_dir=": (
        "Set TENSORBOARD_LOGGING_DIR in the environment instead: transformers 5 has removed it."
    ),
    "training_arguments save_safetensors=": "Delete it: checkpoints are always safetensors.",
    "training_arguments group_by_length=": (
        'Use train_sampling_strategy="group_by_length"; batches of varying length compile anew on Neuron.'
    ),
    "training_arguments adafactor=": 'Use optim="adafactor".',
    "training_arguments include_inputs_for_metrics=": 'Use include_for_metrics=["inputs"].',
    "training_arguments push_to_hub_organization=": (
        "Delete it and write the organisation before the name in hub_model_id."
    ),
    "training_arguments include_tokens_per_second=": (
        "Use include_num_input_tokens_seen, which also counts the tokens."
    ),
    "training_arguments fp16=": "Keep it, but bf16 is what Neuron devices are made for.",
    "training_arguments fsdp=": (
        "Shard with DistributedConfig(fsdp_size=...): strings and lists are deprecated, and accelerate does not "
        "support FSDP on Neuron."
    ),
    "training_arguments deepspeed=": "Delete it: accelerate refuses DeepSpeed on Neuron.",
    "training_arguments trn_config": (
        "Build a DistributedConfig where the model is loaded: the arguments have no such attribute."
    ),
    "training_arguments mp_plugin": "Delete it: the arguments have no such attribute.",
    "training_arguments tp_plugin": "Delete it: the arguments have no such attribute.",
    "training_arguments tensor_parallel_size": (
        "Keep the value in a script argument of your own: the arguments have no such attribute."
    ),
    "training_arguments pipeline_parallel_size": (
        "Delete it: the arguments have no such attribute and pipeline parallel training has no native form."
    ),
    "training_arguments overwrite_output_dir": (
        "Replace it with True, False or a script argument of your own: the attribute is gone."
    ),
    "training_arguments world_size": (
        "Divide it by tp_size: it was the number of data parallel ranks in 0.4, natively it is that of all ranks."
    ),
    "training_arguments dp_size": "Replace it with world_size // tp_size.",
    "training_arguments world_size_as_dp_size": "Delete the with block and keep its body.",
    "training_arguments train_batch_size": (
        "Check the number: it was the batch size of all data parallel ranks in 0.4, natively it is that of one "
        "process."
    ),
    "training_arguments resume_from_checkpoint": (
        "Pass it to train() explicitly: the native Trainer does not look for a checkpoint in output_dir."
    ),
    "training_arguments to_dict": (
        "Keep it: the dictionary loads into SFTConfig and carries the defaults of TrainingArguments with it."
    ),
    "training_arguments local_rank": "Keep it, or use local_process_index: the field is deprecated.",
    "sft_config max_seq_length=": "Renamed to max_length; its default is 1024.",
    "sft_config packing=": (
        'Add packing_strategy="wrapped" for the old behaviour: the native default packs whole examples.'
    ),
    "sft_config padding_free=": "Keep it False: sequences of varying length compile anew on Neuron.",
    "sft_config dataset_text_field=": SILENT % ('"text"', "None"),
    "sft_config use_liger=": "Renamed to use_liger_kernel; delete it on Neuron, where the kernels do not run.",
    "sft_config learning_rate=": SILENT % ("2e-5", "5e-5"),
    "sft_config gradient_checkpointing=": SILENT % ("True", "False"),
    "sft_config logging_steps=": SILENT % ("10", "500"),
    "sft_config bf16=": SILENT % ("True where the device has it", "False"),
    "orpo_config max_length=": SILENT % ("1024", "None"),
    "orpo_config learning_rate=": SILENT % ("1e-6", "5e-5"),
    "trainer tokenizer=": (
        "Renamed to processing_class; in 0.4 tokenizer was ignored, so the default collator changes to one that pads."
    ),
    "sft_trainer processsing_class=": "Renamed to processing_class: releases 0.4.0 and 0.4.1 spelt it with three s.",
    "sft_trainer model_init=": "Call the function and pass its result as model: SFTTrainer takes no model_init.",
    "sft_trainer formatting_func=": (
        "Return one string for one example: without packing the old trainer passed a batch and took a list."
    ),
    "trainer trigger_on_step_middle_for_neuron_cache_callback": (
        "Delete it: on_step_middle of a callback is never called."
    ),
    "trainer mp_enabled": "Compare the tp_size of your DistributedConfig with 1 instead.",
    "trainer setup_training": "Call train(): a training loop of your own is set up with accelerate.",
    "trainer train_step": "Renamed to training_step, which takes other arguments.",
    "trainer num_tokens": "Read num_input_tokens_seen from trainer.state, with include_num_input_tokens_seen=True.",
    "trainer mixed_precision_config": "Read bf16 from the arguments instead.",
    "trainer is_logging_process": "Renamed to is_world_process_zero.",
    "trainer trn_config": "Keep the sizes in a variable of your own.",
    "trainer dp_size": "Replace it with args.world_size // tp_size.",
    "trainer _prepare_non_packed_dataloader": (
        "Map the dataset yourself before the trainer gets it: SFTTrainer has no such override point."
    ),
    "trainer concatenated_forward": (
        "Look at the override again: the method of the same name in trl.experimental may differ."
    ),
    "trainer compute_loss": (
        "Add num_items_in_batch=None to the override: without it the native Trainer fails with a TypeError."
    ),
    "trainer save_model": "Keep it: it writes whole safetensors, also when the model is sharded.",
    "training_config tensor_parallel_size=": "Renamed to tp_size of DistributedConfig.",
    "training_config pipeline_parallel_size=": NO_PIPELINE,
    "training_config sequence_parallel_enabled=": "Delete it: sequence parallelism is not wired up natively.",
    "training_config parallelize_embeddings=": (
        "Delete it: the model's tp_plan decides whether embeddings are sharded."
    ),
    "training_config kv_size_multiplier=": KV_HEADS,
    "training_config num_ranks_per_loading_step=": THROTTLE,
    "training_config num_local_ranks_per_step=": THROTTLE,
    "training_config checkpoint_dir=": "Pass it to train() as resume_from_checkpoint.",
    "training_config gradient_checkpointing=": "Move it to TrainingArguments.",
    "training_config recompute_causal_mask=": (
        "Delete it and look at the padding: the old default ignored the attention mask."
    ),
    "training_config should_parallelize": "Compare tp_size with 1 instead.",
    "training_config model_parallelism_enabled": "Compare tp_size with 1 instead.",
    "training_config parallelize_model": "Delete the call: from_pretrained shards the model.",
    "training_config data_parallel_size": "Use dp_size of the DistributedConfig.",
    "mixed_precision_config mode=": (
        'Pass mixed_precision="bf16" to Accelerator for AUTOCAST_BF16, or load with dtype=torch.bfloat16 for '
        "FULL_BF16."
    ),
    "mixed_precision_config stochastic_rounding=": (
        "Set NEURON_RT_STOCHASTIC_ROUNDING_EN=1 in the environment where bf16 weights need it."
    ),
    "mixed_precision_config optimizer_use_master_weights=": FP32_MASTERS,
    "mixed_precision_config optimizer_use_fp32_grad_acc=": FP32_GRADIENTS,
    "accelerator zero_1=": (
        "Shard with DistributedConfig(fsdp_size=...) at from_pretrained: Accelerator refuses the keyword."
    ),
    "accelerator trn_config=": (
        "Pass parallelism_config=accelerate.ParallelismConfig(...) and load the model with a DistributedConfig of "
        "the same sizes."
    ),
    "accelerator mp_plugin=": (
        "Pass parallelism_config=accelerate.ParallelismConfig(...) and load the model with a DistributedConfig of "
        "the same sizes."
    ),
    "accelerator tp_plugin=": (
        "Pass parallelism_config=accelerate.ParallelismConfig(...) and load the model with a DistributedConfig of "
        "the same sizes."
    ),
    "accelerator mixed_precision_config=": 'Pass mixed_precision="bf16".',
    "training_model from_pretrained.trn_config=": (
        "Pass distributed_config=DistributedConfig(...) by keyword: the old second positional argument must go."
    ),
    "training_model from_config.trn_config=": "Delete it: from_config builds a model that is not sharded.",
    "training_model from_pretrained.attn_implementation=": (
        'Use "sdpa": "flash_attention_2" meant a kernel of Optimum Neuron and natively asks for CUDA.'
    ),
    "training_model from_pretrained.use_flash_attention_2=": 'Use attn_implementation="sdpa": the keyword is refused.',
    "training_model from_pretrained.torch_dtype=": (
        'Renamed to dtype. Where it was left out, write dtype=torch.float32: the native default is "auto".'
    ),
    "training_model from_pretrained.low_cpu_mem_usage=": "Delete it: it is accepted and ignored.",
    "training_model save_pretrained.optimizer=": (
        "Delete it and save optimizer.state_dict() yourself: natively the keyword is swallowed and nothing is saved."
    ),
    "training_model save_pretrained.is_main_process=": (
        "Delete it: every rank calls save_pretrained and the main one writes."
    ),
    "training_model save_pretrained.safe_serialization=": "Delete it: weights are always safetensors.",
    "training_model run_train": PIPELINE_MEMBER,
    "training_model run_eval": PIPELINE_MEMBER,
    "training_model local_named_parameters": "Use named_parameters(), which yields sharded tensors.",
    "training_model local_parameters": "Use parameters(), which yields sharded tensors.",
    "lazy_load tensor_parallel_size=": (
        "Unwrap the with block and pass DistributedConfig(tp_size=...) to the from_pretrained inside it."
    ),
    "lazy_load pipeline_parallel_size=": NO_PIPELINE,
    "lazy_optimizer optimizer_cls=": "Use the optimizer class itself.",
    "consolidate checkpoint_dir=": (
        "Convert shards of Optimum Neuron with neuron-shim export SRC DST: the native function cannot read them."
    ),
    "consolidate output_dir=": (
        "Convert shards of Optimum Neuron with neuron-shim export SRC DST: the native function cannot read them."
    ),
    "consolidate save_format=": "Delete it: the result is always safetensors.",
    "lora_config target_modules=": (
        "Load the model with tp_size=1 and shard with FSDP: adapters on o_proj and down_proj fail under tensor "
        "parallelism."
    ),
    "peft_model save_pretrained.safe_serialization=": "Keep it: the native default is True.",
    "peft_model save_pretrained.async_save=": "Delete it: saving blocks natively.",
    "traced_model export=": (
        "Delete it and name the original model: transformers refuses the keyword, and an exported folder cannot be "
        "loaded."
    ),
    "traced_model auto_cast=": 'Load in bf16 for "all" and in fp32 for None or "none"; "matmul" has no native form.',
    "traced_model auto_cast_type=": (
        "Use dtype: bf16 is torch.bfloat16 and fp16 is torch.float16; tf32 has no native form."
    ),
    "traced_model dynamic_batch_size=": (
        "Delete it and pad or split batches to one size: every new batch size compiles anew."
    ),
    "traced_model inline_weights_to_neff=": COMPILE_TIME,
    "traced_model compiler_workdir=": COMPILE_TIME,
    "traced_model optlevel=": COMPILE_TIME,
    "traced_model disable_fast_relayout=": COMPILE_TIME,
    "traced_model disable_fallback=": COMPILE_TIME,
    "traced_model instance_type=": COMPILE_TIME,
    "traced_model disable_neuron_cache=": "Delete it: there is no compile cache on the Hub.",
    "traced_model library_name=": "Delete it: the class that loads the model decides the library.",
    "traced_model task=": "Delete it: the Auto class decides the task.",
    "traced_model torch_dtype=": (
        'Renamed to dtype, in diffusers 0.42 too. The native default is "auto" in transformers, float32 in diffusers.'
    ),
    "traced_model tensor_parallel_size=": (
        "Load with DistributedConfig(tp_size=N) under torchrun; in diffusers only Flux, Flux2 and QwenImage can be "
        "sharded."
    ),
    "traced_model output_attentions=": "Pass it where the model is called.",
    "traced_model output_hidden_states=": "Pass it where the model is called.",
    "traced_model use_auth_token=": "Renamed to token.",
    "traced_model batch_size=": (
        "Delete it and pad or split the inputs to one batch size; pipeline() takes batch_size itself."
    ),
    "traced_model sequence_length=": (
        'Pass padding="max_length", max_length=N and truncation=True to the tokenizer to keep one shape.'
    ),
    "traced_model width=": "Pass it to the call of the diffusion pipeline; for vision models delete it.",
    "traced_model height=": "Pass it to the call of the diffusion pipeline; for vision models delete it.",
    "traced_model num_images_per_prompt=": "Pass it to the call of the pipeline.",
    "traced_model num_image_per_prompt=": (
        "Pass num_images_per_prompt to the call of the pipeline: release 0.0.10 spelt it without the s."
    ),
    "traced_model audio_sequence_length=": (
        'Pass padding="max_length" and max_length=N to the feature extractor to keep one shape.'
    ),
    "traced_model num_beams=": "Pass it to generate().",
    "traced_model file_name=": COMPILED_FILE,
    "traced_model encoder_file_name|decoder_file_name=": COMPILED_FILE,
    "traced_model model_save_dir=": COMPILED_FILE,
    "traced_model neuron_config=": COMPILE_TIME,
    "traced_model from_transformers=": "Delete it and name the original model: it was the old name of export.",
    "traced_model load_model": "Load the model with from_pretrained.",
    "traced_model push_to_hub": "Pass the repository id first: the old first argument was a folder.",
    "traced_model model": "Use the model itself: it wraps nothing.",
    "traced_model config.neuron": "Write the settings down in your own code: the configuration has no such part.",
    "traced_model neuron_config": "Write the settings down in your own code: the model has no such attribute.",
    "traced_model input_static_shapes": "Write the shapes down in your own code: the model has no such attribute.",
    "traced_model replace_weights": "Use load_state_dict.",
    "traced_model preprocessors": "Load them with AutoTokenizer or AutoProcessor.",
    "traced_model to": "Keep it: it did nothing before and now moves the weights to the device.",
    "traced_model save_pretrained": "Keep it for the weights; delete it where it only stored the compiled model.",
    "diffusion unet_id=": DIFFUSERS_IGNORES,
    "diffusion controlnet_ids=": DIFFUSERS_IGNORES,
    "diffusion lora_model_ids=": LORA_STEPS,
    "diffusion lora_weight_names=": LORA_STEPS,
    "diffusion lora_adapter_names=": LORA_STEPS,
    "diffusion lora_scales=": LORA_STEPS,
    "diffusion ip_adapter_id=": IP_ADAPTER_STEPS,
    "diffusion ip_adapter_subfolder=": IP_ADAPTER_STEPS,
    "diffusion ip_adapter_weight_name=": IP_ADAPTER_STEPS,
    "diffusion ip_adapter_scale=": IP_ADAPTER_STEPS,
    "diffusion data_parallel_mode=": "Delete it: one pipeline runs on one core; start several processes for more.",
    "diffusion device_ids=": "Delete it: NEURON_RT_VISIBLE_CORES chooses the cores.",
    "diffusion text_encoder_file_name=": COMPILED_FILE,
    "diffusion data_parallel_mode": "Delete it: one pipeline runs on one core.",
    "diffusion force_download=": "Keep it: the keyword is the same.",
    "diffusion vae_encoder": "Use pipe.vae.encode(pixels).latent_dist.sample(): the VAE is one component.",
    "diffusion vae_decoder": "Use pipe.vae.decode(latents, return_dict=False)[0]: the VAE is one component.",
    "diffusion replace_weights": "Use load_state_dict on the component.",
    "diffusion save_pretrained": "Keep it: it saves the weights and no compiled files.",
    "diffusion from_pipe": "Keep it and add dtype: without it the weights become fp32.",
    "causal_lm_inference export=": "Delete it and name the original model: transformers refuses the keyword.",
    "causal_lm_inference batch_size=": "Delete it: transformers refuses the keyword. Keep the batches at one size.",
    "causal_lm_inference sequence_length=": "Pass max_length to generate() to keep the limit.",
    "causal_lm_inference num_cores=": CORES_TO_RANKS,
    "causal_lm_inference tensor_parallel_size=": CORES_TO_RANKS,
    "causal_lm_inference auto_cast_type=": (
        "Use dtype: the default was fp32 up to 0.1, bf16 in 0.2 and 0.3, and that of the checkpoint since 0.4."
    ),
    "causal_lm_inference load_weights=": "Delete it: a run that only compiles has no native form.",
    "causal_lm_inference use_auth_token=": "Renamed to token.",
    "causal_lm_inference export": "Use from_pretrained with the same model id and without neuron_config.",
    "causal_lm_inference neuron_config": "Write the settings down in your own code: the model has no such attribute.",
    "causal_lm_inference max_length|batch_size": (
        "Write the limits down in your own code: the model has no such attributes."
    ),
    "causal_lm_inference generate_tokens": "Use generate().",
    "causal_lm_inference generate": (
        'Keep it and set padding_side="left" for batches: arguments that were ignored before take effect now.'
    ),
    "causal_lm_inference prefill|forward": "Call the model with input_ids and attention_mask, or use generate().",
    "causal_lm_inference push_to_hub": "Pass the repository id first: the old first argument was a folder.",
    "causal_lm_inference parameters": "Keep it: it yields the real parameters now.",
    "nxd_config tp_degree=": "Use DistributedConfig(tp_size=...) and start with torchrun.",
    "nxd_config ep_degree=": "Use DistributedConfig(ep_size=...) and start with torchrun.",
    "nxd_config torch_dtype=": "Pass it to from_pretrained as dtype.",
    "pipeline export=": "Delete it and name the original model.",
    "pipeline input_shapes=": "Delete it; a batch_size inside becomes the batch_size of the pipeline.",
    "pipeline compiler_args=": "Pass dtype for the cast and delete the rest.",
    "pipeline use_auth_token=": "Renamed to token.",
    "pipeline batch_size=": "Keep it and spell it out: it was that of the exported model, natively it is 1.",
    "pipeline tensor_parallel_size=": (
        'Pass model_kwargs={"distributed_config": DistributedConfig(tp_size=N)} and start with torchrun.'
    ),
    "pipeline num_cores=": (
        'Pass model_kwargs={"distributed_config": DistributedConfig(tp_size=N)} and start with torchrun.'
    ),
    "pipeline auto_cast_type=": "Pass dtype instead.",
    "argument_parser parse_args_into_dataclasses": (
        "Keep it and set pad_to_max_length=True yourself: the old parser forced it."
    ),
    "argument_parser parse_json_file": "Keep it and delete keys of removed arguments, which are refused.",
}

BY_OWNER: dict[tuple[str, str], str] = {
    ("parallelizer", "manual"): EXPLICIT,
    ("nxd_config", "drop"): COMPILE_TIME,
    ("export", "manual"): EXPORT_REASON,
    ("export_models", "manual"): EXPORT_REASON,
    ("main_export", "manual"): EXPORT_REASON,
    ("hub_cached_entries", "drop"): HUB_REASON,
    ("hub_cached_models", "drop"): HUB_REASON,
    ("synchronize_hub_cache", "drop"): HUB_REASON,
    ("hub_neuronx_cache", "drop"): HUB_REASON,
    ("neuron_cc_wrapper", "drop"): "Delete the whole call: the compiler needs no wrapper.",
    ("token_selector", "manual"): "Use generate() instead of selecting tokens by hand.",
    ("image_uri", "manual"): "Look the container image up with the SageMaker SDK or write its address.",
    ("traced_model", "drop"): SHAPE,
    ("orpo_config", "drop"): "Delete it: ORPOConfig has lost it.",
}

BY_KIND: dict[tuple[str, str], str] = {
    ("legacy", "drop"): "Delete it: transformers 5 has removed it.",
    ("legacy", "rename"): "Renamed to {native} in transformers 5.",
    ("legacy", "move"): "Move it to {native}: transformers 5 has removed the argument.",
    ("keyword", "drop"): "Delete it: there is no native counterpart.",
    ("keyword", "rename"): "Renamed to {native}.",
    ("keyword", "keep"): "Keep it: the keyword is the same.",
    ("member", "drop"): "Delete it: there is no native counterpart.",
    ("member", "keep"): "Keep it: it is the same.",
}


def place(member: str, keyword: str) -> str:
    """Where a keyword or member stands, in one word: ``zero_1=``, ``save_pretrained.optimizer=`` or ``to``."""
    return f"{member}.{keyword}=" if keyword else member


def member_of(row: Row) -> str:
    named = MEMBERS.get(row["member"], row["member"])
    return "|".join(part.strip() for part in re.split(r"\s+/\s+|/|\|", named))


def keys_of(owner: str, member: str, keyword: str) -> tuple[str, ...]:
    """The keys of a row in the tables above, the exact one first; a keyword may leave its member out."""
    return (f"{owner} {place(member, keyword)}", *((f"{owner} {keyword}=",) if keyword else ()))


def look_up(table: dict[str, str], keys: Iterable[str]) -> str | None:
    return next((table[key] for key in keys if key in table), None)


def native_of(row: Row, keys: tuple[str, ...], member: str, keyword: str) -> str:
    found = look_up(NATIVE, keys)
    if found is not None:
        return found
    if row["action"] == "keep":
        return keyword or member
    if row["action"] == "drop":
        return ""
    return row["native"].strip()


def reason_of(row: Row, keys: tuple[str, ...], owner: str, native: str) -> str:
    action = row["action"]
    found = look_up(REASONS, keys) or BY_OWNER.get((owner, action)) or BY_KIND.get((KINDS[row["entry_type"]], action))
    if found is None:
        raise ValueError(f"no reason for {keys[0]!r} ({action}): {row['reason']!r}")
    return found.replace("{native}", native)


def keyword_row(row: Row) -> Row:
    owner, member = OWNERS[row["owner"]], member_of(row)
    keyword = "|".join(part.strip() for part in row["keyword"].split(" / "))
    keys = keys_of(owner, member, keyword)
    native = native_of(row, keys, member, keyword)
    spans = [span.split("-") for span in row["version_range"].split(";")]
    return {
        "owner": owner,
        "member": member,
        "keyword": keyword,
        "first": spans[0][0],
        "last": spans[-1][-1],
        "ranges": row["version_range"] if len(spans) > 1 else "",
        "default": row["default"],
        "native": native,
        "action": row["action"],
        "reason": reason_of(row, keys, owner, native),
    }


# --- files ----------------------------------------------------------------------------------------


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def table(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """The text of a table: a header and sorted rows, unquoted, so no field may hold a tab or a newline."""
    lines = sorted(tuple(row[column] for column in columns) for row in rows)
    for line in lines:
        if any(character in field for field in line for character in "\t\r\n"):
            raise ValueError(f"a field of {line!r} holds a tab or a newline")
    return "".join("\t".join(line) + "\n" for line in (tuple(columns), *lines))


def tables(survey: Path) -> dict[str, str]:
    return {
        "symbols.tsv": table(SYMBOL_COLUMNS, map(symbol_row, read(survey / "api_symbols.tsv"))),
        "keywords.tsv": table(KEYWORD_COLUMNS, map(keyword_row, read(survey / "api_kwargs.tsv"))),
    }


def differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_bytes() != text.encode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("survey", type=Path, help="folder with api_symbols.tsv and api_kwargs.tsv")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the tables on disk differ")
    options = parser.parse_args(arguments)
    stale = {DATA / name: text for name, text in tables(options.survey).items() if differs(DATA / name, text)}
    for path, text in stale.items():
        print(f"{path.name} {'differs' if options.check else 'written'}")
        if not options.check:
            path.write_bytes(text.encode())
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
