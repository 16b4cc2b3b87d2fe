"""Write the table of what transformers 5, TRL 1 and their kin renamed, from a survey of their releases.

The survey (``hf_renames.tsv``) says what each release refused and what is left of it. This program decides what the
tool makes of each row and says it in the words a user reads; a row of the survey without a decision is an error. Rows
that the survey lacks, found in the installed libraries, are added at the end. Where the survey was wrong, a comment
that begins with "Correction" says why.

    python tools/build_renames.py SURVEY_FOLDER            write the table
    python tools/build_renames.py SURVEY_FOLDER --check    exit 1 if the table on disk differs
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parents[1] / "codemods" / "neuron_codemods" / "data" / "renames.tsv"
COLUMNS = ("kind", "owner", "old", "action", "new", "inert", "message", "origin")

OWNERS = {
    "TrainingArguments": "transformers.TrainingArguments",
    "SFTConfig": "trl.SFTConfig",
    "DPOConfig": "trl.DPOConfig",
    "GRPOConfig": "trl.GRPOConfig",
    "RewardConfig": "trl.RewardConfig",
    "KTOConfig": "trl.KTOConfig",
    "RLOOConfig": "trl.RLOOConfig",
    "ORPOConfig": "trl.experimental.orpo.ORPOConfig",
    "CPOConfig": "trl.experimental.cpo.CPOConfig",
    "Trainer": "transformers.Trainer",
    "Seq2SeqTrainer": "transformers.Seq2SeqTrainer",
    "SFTTrainer": "trl.SFTTrainer",
    "DPOTrainer": "trl.DPOTrainer",
    "RewardTrainer": "trl.RewardTrainer",
    "KTOTrainer": "trl.KTOTrainer",
    "RLOOTrainer": "trl.RLOOTrainer",
    "ORPOTrainer": "trl.experimental.orpo.ORPOTrainer",
    "CPOTrainer": "trl.experimental.cpo.CPOTrainer",
    "transformers": "transformers",
    "trl": "trl",
    "PreTrainedModel": "PreTrainedModel",
    "PreTrainedTokenizer": "PreTrainedTokenizer",
    "transformers.pipeline task": "transformers.pipeline",
}


class Entry(NamedTuple):
    """What the tool makes of a row; see ``neuron_codemods.data.renames.Rename`` for the words."""

    action: str
    new: str = ""
    inert: str = ""
    message: str = ""


def rename(new: str, message: str = "") -> Entry:
    return Entry("rename", new, "", message)


def drop(message: str, inert: str = "None,False") -> Entry:
    return Entry("drop", "", inert, message)


def always(message: str) -> Entry:
    """A keyword that never made a difference, whatever its value."""
    return Entry("drop", "", "*", message)


def manual(message: str, inert: str = "None,False") -> Entry:
    return Entry("manual", "", inert, message)


def rule(code: str) -> Entry:
    return Entry("rule", code)


KEEP = Entry("keep")
CHECKPOINTING = rename("activation_checkpointing")
MAX_LENGTH_ONLY = drop(
    "Prompts are no longer cut on their own: max_length limits prompt and answer together, so cut long prompts in the "
    "data set if there are any.",
    "None",
)
NO_PROMPT_LENGTH = drop("Prompts are no longer cut: filter or cut long ones in the data set.", "None")
COMPLETION_LENGTH = drop(
    "Answers are no longer cut on their own: max_length limits prompt and answer together.", "None"
)
LABEL_PAD = drop("Labels are always padded with -100.", "-100,None")
PADDING = drop("Padding is always the pad token of the tokenizer.", "None")
TRUNCATION = drop("Too long sequences keep their start.", "keep_start,None")
ENCODER_DECODER = drop("Encoder-decoder models are no longer trained this way.", "None,False")
GENERATE = manual(
    "Nothing is generated during evaluation: add trl.LogCompletionsCallback(trainer, num_prompts=...) to the trainer."
)
REF_INIT = manual("Load the reference model yourself and pass it as ref_model.", "None")
ADAPTER = manual(
    "Adapters are no longer chosen by name: with peft_config the base model is the reference; else load the reference "
    "model and pass it as ref_model.",
    "None",
)
LIGER = rename("use_liger_kernel")
MODEL_INIT = manual("This trainer takes no model_init: build the model and pass it as model.", "None")
NO_METRICS_HOOK = manual("Logits are no longer handed to a hook: do in compute_metrics what it did.", "None")
TOKENIZER = rename("processing_class")
RLOO = manual(
    "RLOOTrainer is another one now, with num_generations, beta and reward_funcs like GRPOTrainer: write the "
    "configuration anew.",
    "",
)
GRPO_GONE = manual("The vLLM server is configured by the vllm_* keywords that are left.", "None")
REFERENCE_FREE = manual(
    'There is no training without reference: trl.experimental.cpo.CPOTrainer needs none, loss_type="simpo" there.'
)

# --- keywords of the arguments classes --------------------------------------------------------------

KEYWORDS: dict[str, dict[str, Entry]] = {
    "TrainingArguments": {
        "overwrite_output_dir": always("The trainer never looked at it."),
        "evaluation_strategy": rename("eval_strategy"),
        "per_gpu_train_batch_size": rename("per_device_train_batch_size"),
        "per_gpu_eval_batch_size": rename("per_device_eval_batch_size"),
        "warmup_ratio": rule("NM710"),
        "logging_dir": rule("NM710"),
        "save_safetensors": drop("Checkpoints are always safetensors.", "None,True"),
        "no_cuda": rename("use_cpu"),
        "use_mps_device": always("The device is found."),
        "jit_mode_eval": drop("Nothing is traced for evaluation: torch_compile=True compiles."),
        "use_ipex": drop("Intel's extension is no longer applied."),
        "fp16_opt_level": always("It was about Apex, which is gone."),
        "half_precision_backend": drop("Mixed precision is always that of torch.", "auto,cuda_amp,cpu_amp,None"),
        "fp16_backend": drop("Mixed precision is always that of torch.", "auto,amp,None"),
        "tpu_num_cores": drop("TPUs are started by accelerate launch.", "None"),
        "tpu_metrics_debug": Entry("value", 'debug="tpu_metrics_debug"'),
        "past_index": drop("The state of the last step is no longer passed on.", "-1,None"),
        "fsdp_min_num_params": Entry("key", "fsdp_config:min_num_params", "0,None"),
        "fsdp_transformer_layer_cls_to_wrap": Entry("key", "fsdp_config:transformer_layer_cls_to_wrap", "None"),
        "adafactor": Entry("value", 'optim="adafactor"'),
        "group_by_length": Entry("value", 'train_sampling_strategy="group_by_length"'),
        "use_legacy_prediction_loop": drop("There is one loop, which computes the same."),
        "gradient_checkpointing": CHECKPOINTING,
        "include_inputs_for_metrics": Entry("value", 'include_for_metrics=["inputs"]'),
        "push_to_hub_model_id": rename("hub_model_id"),
        "push_to_hub_organization": manual('Write it into hub_model_id, as "organization/name".', "None"),
        "push_to_hub_token": rename("hub_token"),
        "_n_gpu": always("The trainer counts the devices."),
        "mp_parameters": drop("SageMaker's model parallelism is gone.", "''"),
        "torchdynamo": rename("torch_compile_backend"),
        "ray_scope": drop("Ray chooses the last result of a trial.", "last,None"),
        "dispatch_batches": Entry("key", "accelerator_config:dispatch_batches", "None"),
        "split_batches": Entry("key", "accelerator_config:split_batches", "None"),
        "include_tokens_per_second": rename("include_num_input_tokens_seen"),
        "tp_size": manual(
            "Load the model with distributed_config=transformers.distributed.DistributedConfig(tp_size=...).", "0,None"
        ),
    },
    "SFTConfig": {
        "max_seq_length": rename("max_length"),
        "dataset_batch_size": always("It only set how many samples were tokenised at once."),
        "num_of_sequences": always("It only set how many samples were joined at once for packing."),
        "chars_per_token": always("It only guessed how many samples make a packed sequence."),
        "use_liger": LIGER,
        "gradient_checkpointing": CHECKPOINTING,
        "packing": KEEP,
        "dataset_text_field": KEEP,
        "eval_packing": KEEP,
        "dataset_kwargs": KEEP,
        "neftune_noise_alpha": KEEP,
    },
    "DPOConfig": {
        "label_pad_token_id": LABEL_PAD,
        "padding_value": PADDING,
        "truncation_mode": TRUNCATION,
        "max_prompt_length": MAX_LENGTH_ONLY,
        # Correction: it limited the answer alone; max_length limits prompt and answer together.
        "max_target_length": COMPLETION_LENGTH,
        "max_completion_length": COMPLETION_LENGTH,
        "is_encoder_decoder": ENCODER_DECODER,
        "generate_during_eval": GENERATE,
        "ref_model_init_kwargs": REF_INIT,
        "model_adapter_name": ADAPTER,
        "ref_adapter_name": ADAPTER,
        "reference_free": REFERENCE_FREE,
        "force_use_ref_model": drop("A ref_model that is passed is used, also with peft_config.", "None,False,True"),
        "rpo_alpha": manual('Pass loss_type=["sigmoid", "sft"] and loss_weights=[1.0, rpo_alpha].', "None"),
        "use_logits_to_keep": always("It only saved memory."),
        "tools": manual("Give each sample of the data set a column tools.", "None"),
        "gradient_checkpointing": CHECKPOINTING,
        "use_liger_loss": LIGER,
        "base_model_attribute_name": drop("The base model is found.", "model,None"),
    },
    "GRPOConfig": {
        "max_prompt_length": NO_PROMPT_LENGTH,
        # Correction: it lives on as vllm_structured_outputs_regex, as vLLM renamed guided decoding.
        "vllm_guided_decoding_regex": rename("vllm_structured_outputs_regex"),
        "use_liger_loss": LIGER,
        # Correction: it lives on as log_unique_prompts, for every reporter.
        "wandb_log_unique_prompts": rename("log_unique_prompts"),
        "vllm_device": GRPO_GONE,
        "vllm_dtype": GRPO_GONE,
        # Correction: it lives on as vllm_max_model_length.
        "vllm_max_model_len": rename("vllm_max_model_length"),
        "vllm_enable_prefix_caching": GRPO_GONE,
        "gradient_checkpointing": CHECKPOINTING,
        "use_transformers_paged": rename("use_transformers_continuous_batching"),
        "vllm_importance_sampling_cap": rename("vllm_importance_sampling_clip_max"),
    },
    "RewardConfig": {"gradient_checkpointing": CHECKPOINTING},
    "KTOConfig": {
        "max_prompt_length": MAX_LENGTH_ONLY,
        "max_completion_length": COMPLETION_LENGTH,
        "label_pad_token_id": LABEL_PAD,
        "padding_value": PADDING,
        "truncation_mode": TRUNCATION,
        "generate_during_eval": GENERATE,
        "is_encoder_decoder": ENCODER_DECODER,
        "ref_model_init_kwargs": REF_INIT,
        "use_liger_loss": LIGER,
        "base_model_attribute_name": drop("The base model is found.", "model,None"),
        "gradient_checkpointing": CHECKPOINTING,
    },
    "RLOOConfig": {
        **dict.fromkeys(
            (
                *("exp_name", "reward_model_path", "num_ppo_epochs", "whiten_rewards", "kl_coef", "cliprange"),
                *("rloo_k", "normalize_reward", "normalize_advantage", "token_level_kl", "num_mini_batches"),
                *("total_episodes", "response_length", "dataset_num_proc", "local_rollout_forward_batch_size"),
                *("num_sample_generations", "stop_token", "stop_token_id", "missing_eos_penalty"),
            ),
            RLOO,
        ),
        "gradient_checkpointing": CHECKPOINTING,
        "max_prompt_length": NO_PROMPT_LENGTH,
        "use_transformers_paged": rename("use_transformers_continuous_batching"),
        # Correction: these two came with the new trainer and were renamed as for GRPO.
        "vllm_guided_decoding_regex": rename("vllm_structured_outputs_regex"),
        "wandb_log_unique_prompts": rename("log_unique_prompts"),
    },
    "ORPOConfig": {
        "max_prompt_length": MAX_LENGTH_ONLY,
        "label_pad_token_id": LABEL_PAD,
        "truncation_mode": TRUNCATION,
        "gradient_checkpointing": CHECKPOINTING,
    },
    "CPOConfig": {
        "max_prompt_length": MAX_LENGTH_ONLY,
        # Correction: it limited the answer alone, which max_completion_length still does here.
        "max_target_length": rename("max_completion_length"),
        "label_pad_token_id": LABEL_PAD,
        "padding_value": PADDING,
        "truncation_mode": TRUNCATION,
        "gradient_checkpointing": CHECKPOINTING,
    },
}

# --- parameters of the trainers ---------------------------------------------------------------------

_DPO_GONE = {
    name: KEYWORDS["DPOConfig"][name]
    for name in (
        *("label_pad_token_id", "padding_value", "truncation_mode", "max_prompt_length", "max_target_length"),
        *("is_encoder_decoder", "generate_during_eval", "ref_model_init_kwargs", "model_adapter_name"),
        *("ref_adapter_name", "reference_free", "force_use_ref_model"),
    )
}


def moved(*names: str) -> dict[str, Entry]:
    return {name: Entry("move", name) for name in names}


PARAMETERS: dict[str, dict[str, Entry]] = {
    "Trainer": {"tokenizer": TOKENIZER},
    "Seq2SeqTrainer": {"tokenizer": TOKENIZER},
    "SFTTrainer": {
        "tokenizer": TOKENIZER,
        "model_init": MODEL_INIT,
        **moved("dataset_text_field", "packing", "dataset_num_proc", "neftune_noise_alpha", "model_init_kwargs"),
        **moved("dataset_kwargs", "eval_packing"),
        "max_seq_length": Entry("move", "max_length"),
        "infinite": drop("max_steps says when to stop."),
        "num_of_sequences": KEYWORDS["SFTConfig"]["num_of_sequences"],
        "chars_per_token": KEYWORDS["SFTConfig"]["chars_per_token"],
        "dataset_batch_size": KEYWORDS["SFTConfig"]["dataset_batch_size"],
        "formatting_func": KEEP,
        "peft_config": KEEP,
        "args=TrainingArguments": KEEP,
    },
    "DPOTrainer": {
        **_DPO_GONE,
        "tokenizer": TOKENIZER,
        "model_init": MODEL_INIT,
        "preprocess_logits_for_metrics": NO_METRICS_HOOK,
        **moved("beta", "label_smoothing", "loss_type", "max_length", "disable_dropout", "precompute_ref_log_probs"),
        **moved("dataset_num_proc", "model_init_kwargs"),
        "optimizer_cls_and_kwargs": manual("Build the optimizer and pass optimizers=(optimizer, None).", "None"),
    },
    "RewardTrainer": {"tokenizer": TOKENIZER, "model_init": MODEL_INIT, **moved("max_length")},
    "KTOTrainer": {
        "tokenizer": TOKENIZER,
        "model_init": MODEL_INIT,
        "preprocess_logits_for_metrics": NO_METRICS_HOOK,
        "model_adapter_name": ADAPTER,
        "ref_adapter_name": ADAPTER,
    },
    "RLOOTrainer": {
        **dict.fromkeys(("config", "policy", "ref_policy", "reward_model", "data_collator"), RLOO),
        "tokenizer": TOKENIZER,
    },
    "ORPOTrainer": {"tokenizer": TOKENIZER},
    "CPOTrainer": {"tokenizer": TOKENIZER},
}

# --- names ------------------------------------------------------------------------------------------


def experimental(path: str) -> Entry:
    return rename(
        f"trl.experimental.{path}", "It lives in trl.experimental, where TRL may change or remove it without notice."
    )


def gone(name: str, other: str) -> Entry:
    return manual(f"TRL 1 has no {name}: keep the script on an older TRL, or {other}.", "")


NAMES: dict[str, dict[str, Entry]] = {
    "trl": {
        "ORPOTrainer": experimental("orpo.ORPOTrainer"),
        "ORPOConfig": experimental("orpo.ORPOConfig"),
        "CPOTrainer": experimental("cpo.CPOTrainer"),
        "CPOConfig": experimental("cpo.CPOConfig"),
        "GKDTrainer": experimental("gkd.GKDTrainer"),
        "GKDConfig": experimental("gkd.GKDConfig"),
        "OnlineDPOTrainer": experimental("online_dpo.OnlineDPOTrainer"),
        "OnlineDPOConfig": experimental("online_dpo.OnlineDPOConfig"),
        "PPOTrainer": gone("PPOTrainer", "train with GRPOTrainer or RLOOTrainer, which take reward functions"),
        "PPOConfig": gone("PPOConfig", "train with GRPOConfig or RLOOConfig"),
        "PPOv2Trainer": gone("PPOv2Trainer", "train with GRPOTrainer or RLOOTrainer, which take reward functions"),
        "NashMDTrainer": gone("NashMDTrainer", "train with trl.experimental.online_dpo.OnlineDPOTrainer"),
        "XPOTrainer": gone("XPOTrainer", "train with trl.experimental.online_dpo.OnlineDPOTrainer"),
        "BCOTrainer": gone("BCOTrainer", "train with KTOTrainer, which takes the same data"),
        "PRMTrainer": gone("PRMTrainer", "train a token classifier with transformers.Trainer"),
        "AlignPropTrainer": gone("AlignPropTrainer", "train the diffusion model with a script of diffusers"),
        "DDPOTrainer": gone("DDPOTrainer", "train the diffusion model with a script of diffusers"),
        "IterativeSFTTrainer": gone("IterativeSFTTrainer", "train with SFTTrainer round by round"),
        "DataCollatorForCompletionOnlyLM": manual(
            "The collator is gone: give the data set columns prompt and completion, of which only the completion "
            "counts (SFTConfig(completion_only_loss=True)), or chats with assistant_only_loss=True.",
            "",
        ),
        "ConstantLengthDataset": manual(
            'Pass the data set itself and SFTConfig(packing=True, packing_strategy="wrapped", max_length=...).', ""
        ),
        "setup_chat_format": manual(
            "clone_chat_template(model, tokenizer, source_tokenizer_path) copies the template of another tokenizer; "
            "for ChatML as before, set tokenizer.chat_template and add its two tokens.",
            "",
        ),
        "get_kbit_device_map": manual(
            'Write what it returned: {"": accelerate.PartialState().local_process_index} on a GPU, else None.', ""
        ),
        "AutoModelForCausalLMWithValueHead": gone(
            "AutoModelForCausalLMWithValueHead", "train with GRPOTrainer, which needs no value head"
        ),
        "AutoModelForSeq2SeqLMWithValueHead": gone(
            "AutoModelForSeq2SeqLMWithValueHead", "train with GRPOTrainer, which needs no value head"
        ),
        "BestOfNSampler": gone("BestOfNSampler", "generate with num_return_sequences and keep the best by score"),
        "WinRateCallback": gone("WinRateCallback", "log completions with LogCompletionsCallback"),
    },
    "transformers": {
        "AdamW": rule("NM703"),
        "AutoModelWithLMHead": rename(
            "transformers.AutoModelForCausalLM",
            "It loaded other kinds too, which AutoModelForMaskedLM and AutoModelForSeq2SeqLM load.",
        ),
        "AutoModelForVision2Seq": rename("transformers.AutoModelForImageTextToText"),
        "TextDataset": manual(
            'Load the file with datasets.load_dataset("text", data_files=...), tokenise it with map and cut it into '
            "blocks, as run_clm.py does.",
            "",
        ),
        "LineByLineTextDataset": manual(
            'Load the file with datasets.load_dataset("text", data_files=...) and tokenise it with map.', ""
        ),
        "is_torch_tpu_available": rule("NM701"),
        "SinkCache": manual("Load it as custom generation code: transformers-community/sink_cache.", ""),
        **{
            f"{name}Pipeline": manual(
                f"There is no {name}Pipeline: call the model and its tokenizer, or generate with a chat model.", ""
            )
            for name in ("QuestionAnswering", "Summarization", "Translation", "Text2TextGeneration")
        },
        "utils.send_example_telemetry": rule("NM701"),
    },
}

LOADING: dict[str, Entry] = {
    "torch_dtype": rename("dtype"),
    "use_auth_token": rename("token"),
    "load_in_8bit": rule("NM730"),
    "load_in_4bit": rule("NM730"),
    "use_flash_attention_2": rule("NM730"),
    "low_cpu_mem_usage": always("It is ignored."),
    "tp_plan": rule("NM730"),
    "_fast_init": always("It is ignored."),
}
TOKENIZERS: dict[str, Entry] = {
    "encode_plus": rule("NM731"),
    "batch_encode_plus": rule("NM731"),
    "additional_special_tokens": rename("extra_special_tokens"),
}
TASKS: dict[str, Entry] = {
    **dict.fromkeys(
        ("summarization", "translation", "text2text-generation"),
        manual(
            "The task is gone: load the model with AutoModelForSeq2SeqLM and call generate, or use text-generation "
            "with a chat model.",
            "",
        ),
    ),
    "question-answering": manual(
        "The task is gone: load the model with AutoModelForQuestionAnswering and take the best span of its logits.", ""
    ),
    "visual-question-answering": manual("The task is gone: use image-text-to-text with a chat model.", ""),
}

# --- what the survey lacks, seen in the installed libraries ------------------------------------------

MORE: dict[tuple[str, str], dict[str, Entry]] = {
    ("keyword", "transformers.TrainingArguments"): {
        "gradient_checkpointing_kwargs": rename("activation_checkpointing_kwargs"),
        "xpu_backend": rename("ddp_backend"),
        "sharded_ddp": manual('FairScale is gone: shard with fsdp="full_shard".', "None,False,''"),
        "evaluate_during_training": Entry("value", 'eval_strategy="steps"'),
    },
    ("loading", "from_pretrained"): {
        "resume_download": always("Downloads always resume."),
        "from_tf": manual("TensorFlow weights are no longer read: convert them with transformers 4.", "None,False"),
        "from_flax": manual("Flax weights are no longer read: convert them with transformers 4.", "None,False"),
        "mirror": always("It is ignored."),
        "offload_state_dict": always("It is ignored."),
    },
    ("tokenizer", "PreTrainedTokenizer"): {
        "additional_special_tokens_ids": rename("extra_special_tokens_ids"),
        "max_len": rename("model_max_length"),
        "as_target_tokenizer": manual("Pass the targets as text_target=... in the call of the tokenizer.", ""),
        "prepare_seq2seq_batch": manual("Call the tokenizer with the sources and text_target=targets.", ""),
        "prepare_for_model": manual("Call the tokenizer with the texts, not with ids.", ""),
        "build_inputs_with_special_tokens": manual(
            "Call the tokenizer with the texts, or add the special ids yourself.", ""
        ),
        "create_token_type_ids_from_sequences": manual(
            "Call the tokenizer with both texts: it returns token_type_ids.", ""
        ),
        "truncate_sequences": manual("Call the tokenizer with truncation=... and max_length=....", ""),
        "sanitize_special_tokens": manual("Delete the call: special tokens are always in the vocabulary.", ""),
        "default_chat_template": rename("chat_template"),
    },
    ("name", "datasets"): {
        "load_metric": rename("evaluate.load", "It needs the package evaluate: pip install evaluate."),
        "list_metrics": rename(
            "evaluate.list_evaluation_modules", "It needs the package evaluate: pip install evaluate."
        ),
        "Metric": rename("evaluate.Metric", "It needs the package evaluate: pip install evaluate."),
        "list_datasets": rename("huggingface_hub.list_datasets", "It yields objects with an id, no longer names."),
        "set_caching_enabled": manual("Call datasets.enable_caching() or datasets.disable_caching().", ""),
    },
    ("name", "huggingface_hub"): {
        "HfFolder": rule("NM701"),
        "Repository": manual(
            "There are no local clones: create_repo and upload_folder push, snapshot_download fetches.", ""
        ),
        "cached_download": manual("Call hf_hub_download(repo_id, filename): it takes no address.", ""),
        "ModelFilter": manual("Pass its arguments to list_models itself.", ""),
        "DatasetFilter": manual("Pass its arguments to list_datasets itself.", ""),
        "InferenceApi": manual("Use InferenceClient, which has a method for each task.", ""),
        "update_repo_visibility": manual("Call update_repo_settings(repo_id, private=...).", ""),
    },
    ("name", "transformers"): {
        "utils.get_full_repo_name": rename("huggingface_hub.get_full_repo_name"),
        "utils.is_offline_mode": rename("huggingface_hub.is_offline_mode"),
        "trainer_utils.EvaluationStrategy": rename("transformers.trainer_utils.IntervalStrategy"),
        "trainer_utils.ShardedDDPOption": manual('FairScale is gone: shard with fsdp="full_shard".', ""),
        "optimization.AdamW": rule("NM703"),
        "deepspeed.HfDeepSpeedConfig": rename("transformers.integrations.HfDeepSpeedConfig"),
        "deepspeed.is_deepspeed_zero3_enabled": rename("transformers.integrations.is_deepspeed_zero3_enabled"),
        "TRANSFORMERS_CACHE": rename("huggingface_hub.constants.HF_HUB_CACHE"),
        "utils.is_torch_tpu_available": rule("NM701"),
        "utils.is_torch_bf16_available": rename("transformers.utils.is_torch_bf16_gpu_available"),
        "utils.is_flash_attn_available": rename("transformers.utils.is_flash_attn_2_available"),
        "GlueDataset": manual('Load the data with datasets.load_dataset("nyu-mll/glue", task).', ""),
        "GlueDataTrainingArguments": manual("Write the fields you need as a dataclass of the script.", ""),
        "SquadDataset": manual('Load the data with datasets.load_dataset("rajpurkar/squad").', ""),
        "glue_compute_metrics": manual('Use evaluate.load("glue", task) of the package evaluate.', ""),
        "glue_output_modes": manual('Write "regression" for stsb and "classification" for the others.', ""),
        "glue_processors": manual('Load the data with datasets.load_dataset("nyu-mll/glue", task).', ""),
        "Conversation": manual("Keep a list of messages with role and content: text-generation takes it.", ""),
        "ConversationalPipeline": manual("Use the text-generation pipeline, which takes a list of messages.", ""),
        "BeamSearchScorer": manual("Call model.generate(num_beams=...): the pieces of beam search are private.", ""),
        "LogitsWarper": rename("transformers.LogitsProcessor"),
        "is_tf_available": manual("TensorFlow is gone from transformers: delete the branch.", ""),
        "is_flax_available": manual("Flax is gone from transformers: delete the branch.", ""),
    },
    ("name", "peft"): {
        "prepare_model_for_int8_training": rename("peft.prepare_model_for_kbit_training"),
    },
    ("task", "transformers.pipeline"): {
        "conversational": manual("The task is gone: text-generation takes a list of messages.", ""),
    },
    ("call", "datasets.load_dataset"): {
        "use_auth_token": rename("token"),
        "trust_remote_code": drop(
            "Loading scripts are no longer run: if the data set has one, use a copy in Parquet.", "None,False"
        ),
        "ignore_verifications": Entry("value", 'verification_mode="no_checks"'),
        "task": drop("Columns are no longer renamed for a task: rename them with rename_columns.", "None"),
    },
    ("call", "huggingface_hub.hf_hub_download"): {
        "use_auth_token": rename("token"),
        "resume_download": always("Downloads always resume."),
        "local_dir_use_symlinks": always("Files in local_dir are never links."),
        "force_filename": manual("Copy the file to the name you want.", "None"),
    },
    ("call", "huggingface_hub.snapshot_download"): {
        "use_auth_token": rename("token"),
        "resume_download": always("Downloads always resume."),
        "local_dir_use_symlinks": always("Files in local_dir are never links."),
    },
    ("call", "huggingface_hub.login"): {
        "write_permission": always("The token itself says what it permits."),
    },
    ("call", "huggingface_hub.notebook_login"): {
        "write_permission": always("The token itself says what it permits."),
    },
    ("call", "transformers.pipeline"): {
        "use_auth_token": rename("token"),
        "torch_dtype": rename("dtype"),
        "framework": drop("Models are always PyTorch.", "None,pt"),
    },
    ("call", "accelerate.Accelerator"): {
        "fp16": Entry("value", 'mixed_precision="fp16"'),
        "logging_dir": rename("project_dir"),
        "dispatch_batches": Entry("object", "dataloader_config:accelerate.DataLoaderConfiguration", "None"),
    },
    ("variable", "os.environ"): {
        "TRANSFORMERS_CACHE": rename("HF_HUB_CACHE"),
        "PYTORCH_TRANSFORMERS_CACHE": rename("HF_HUB_CACHE"),
        "HUGGINGFACE_HUB_CACHE": rename("HF_HUB_CACHE"),
        "HUGGING_FACE_HUB_TOKEN": rename("HF_TOKEN"),
        "HF_HUB_ENABLE_HF_TRANSFER": rename("HF_XET_HIGH_PERFORMANCE"),
        "WANDB_DISABLED": drop("It is no longer read: report_to of the arguments decides.", ""),
    },
}

DEFAULTS: dict[tuple[str, str], tuple[str, str, str]] = {
    ("TrainingArguments", "report_to"): ('"all"', '"none"', "transformers 5"),
    ("TrainingArguments", "optim"): ('"adamw_torch"', '"adamw_torch_fused"', "transformers 5"),
    ("SFTConfig", "bf16"): ("False", "True", "TRL 0.19"),
    ("SFTConfig", "gradient_checkpointing"): ("False", "True", "TRL 0.22"),
    ("SFTConfig", "logging_steps"): ("500", "10", "TRL 0.19"),
    ("SFTConfig", "learning_rate"): ("5e-05", "2e-05", "TRL 0.12"),
    ("DPOConfig", "truncation_mode"): ('"keep_end"', '"keep_start"', "TRL 1"),
    ("DPOConfig", "f_alpha_divergence_coef"): ("1.0", "0.5", "TRL 1"),
    ("GRPOConfig", "max_completion_length"): ("256", "512", "TRL 1"),
    ("GRPOConfig", "vllm_mode"): ('"server"', '"colocate"', "TRL 1"),
    ("RLOOConfig", "max_completion_length"): ("256", "512", "TRL 1"),
    ("RLOOConfig", "vllm_mode"): ('"server"', '"colocate"', "TRL 1"),
    ("RewardConfig", "remove_unused_columns"): ("False", "True", "TRL 0.18"),
}
SAME_EFFECT = {
    ("TrainingArguments", "include_num_input_tokens_seen"),  # False is still accepted and means "no"
    ("TrainingArguments", "trackio_space_id"),  # only read where trackio reports
    ("TrainingArguments", "output_dir"),  # only a script that named none
    ("SFTConfig", "pad_to_multiple_of"),  # "auto" is None but on Neuron
    ("RewardConfig", "pad_to_multiple_of"),
    ("GRPOConfig", "top_k"),  # None and 0 both mean all
    ("RLOOConfig", "top_k"),
    ("GRPOConfig", "vllm_importance_sampling_cap"),  # renamed, see above
}
OTHER: dict[tuple[str, str], tuple[str, Entry]] = {
    ("PreTrainedTokenizer.apply_chat_template", "return value"): ("tokenizer", rule("NM731")),
    ("PreTrainedModel.save_pretrained", "safe_serialization=False"): ("saving", rule("NM732")),
    ("Trainer", "tokenizer attribute"): ("attribute", rule("NM712")),
}


def survey_rows(rows: Iterable[dict[str, str]]) -> Iterator[tuple[str, ...]]:
    """The row of the table for each row of the survey; raises ``KeyError`` for one without a decision."""
    for row in rows:
        owner, old, status = row["class"], row["old kwarg"], row["status"]
        key = (owner, old)
        if status == "default-changed" and key in SAME_EFFECT:
            yield _line("default", OWNERS[owner], old, KEEP)
        elif status == "default-changed" and key in DEFAULTS:
            before, now, since = DEFAULTS[key]
            yield _line("default", OWNERS[owner], old, Entry("default", now, before, since))
        elif key in OTHER:
            kind, entry = OTHER[key]
            yield _line(kind, owner, old, entry)
        elif owner in NAMES:
            yield _line("name", owner, old, NAMES[owner][old])
        elif owner == "PreTrainedModel.from_pretrained":
            yield _line("loading", "from_pretrained", old, LOADING[old])
        elif owner == "PreTrainedTokenizer":
            yield _line("tokenizer", owner, old, TOKENIZERS[old])
        elif owner == "transformers.pipeline task":
            yield _line("task", OWNERS[owner], old, TASKS[old])
        elif owner.endswith(".__init__"):
            name = owner.removesuffix(".__init__")
            yield _line("parameter", OWNERS[name], old, PARAMETERS[name][old])
        elif status == "unchanged":
            yield _line("keyword", OWNERS[owner], old, KEEP)
        else:
            yield _line("keyword", OWNERS[owner], old, KEYWORDS[owner][old])


def _line(kind: str, owner: str, old: str, entry: Entry, origin: str = "survey") -> tuple[str, ...]:
    return (kind, owner, old, entry.action, entry.new, entry.inert, entry.message, origin)


def table(folder: Path) -> str:
    with (folder / "hf_renames.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(survey_rows(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))
    rows += [
        _line(kind, owner, old, entry, "libraries")
        for (kind, owner), entries in MORE.items()
        for old, entry in entries.items()
    ]
    ordered = sorted(set(rows))
    return "".join("\t".join(row) + "\n" for row in (COLUMNS, *ordered))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("survey", type=Path, help="the folder that holds hf_renames.tsv")
    parser.add_argument("--check", action="store_true", help="compare with the table on disk and write nothing")
    given = parser.parse_args(arguments)
    try:
        text = table(given.survey)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyError as error:
        print(f"the survey has a row without a decision here: {error}", file=sys.stderr)
        return 2
    if not given.check:
        TABLE.write_text(text, encoding="utf-8", newline="\n")
        return 0
    if TABLE.exists() and TABLE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TABLE} is not what this program writes from the survey: run it without --check.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
