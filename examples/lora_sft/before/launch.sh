#!/bin/bash
set -ex

export NEURON_FUSE_SOFTMAX=1
export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
export NEURON_CC_FLAGS="--model-type transformer --retry_failed_compilation"
export MALLOC_ARENA_MAX=64

PROCESSES_PER_NODE=32
TP_DEGREE=8
BATCH_SIZE=1
OUTPUT_DIR=lora_output

if [ "$NEURON_EXTRACT_GRAPHS_ONLY" = "1" ]; then
    MAX_STEPS=5
else
    MAX_STEPS=-1
fi

LAUNCHER="torchrun"
# compile first: PRECOMPILE=1 ./launch.sh
if [ "$PRECOMPILE" = "1" ]; then
    LAUNCHER="neuron_parallel_compile torchrun"
fi

$LAUNCHER --nproc_per_node $PROCESSES_PER_NODE finetune_lora.py \
    --model_id Qwen/Qwen3-8B \
    --train_file train.jsonl \
    --max_seq_length 4096 \
    --do_train \
    --max_steps $MAX_STEPS \
    --num_train_epochs 3 \
    --per_device_train_batch_size $BATCH_SIZE \
    --gradient_accumulation_steps 4 \
    --learning_rate 8e-4 \
    --warmup_ratio 0.03 \
    --lr_scheduler_type cosine \
    --bf16 \
    --zero_1 \
    --tensor_parallel_size $TP_DEGREE \
    --async_save \
    --logging_steps 10 \
    --save_strategy epoch \
    --output_dir $OUTPUT_DIR \
    --overwrite_output_dir
