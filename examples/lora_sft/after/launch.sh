#!/bin/bash
set -ex

export NEURON_CC_FLAGS="--model-type transformer"
export MALLOC_ARENA_MAX=64

PROCESSES_PER_NODE=32
TP_DEGREE=1
BATCH_SIZE=1
OUTPUT_DIR=lora_output

MAX_STEPS=-1

LAUNCHER="torchrun"

TP_SIZE=$TP_DEGREE $LAUNCHER --nproc_per_node $PROCESSES_PER_NODE finetune_lora.py \
    --model_id Qwen/Qwen3-8B \
    --train_file train.jsonl \
    --max_seq_length 4096 \
    --do_train \
    --max_steps $MAX_STEPS \
    --num_train_epochs 3 \
    --per_device_train_batch_size $BATCH_SIZE \
    --gradient_accumulation_steps 4 \
    --learning_rate 8e-4 \
    --warmup_steps 0.03 \
    --lr_scheduler_type cosine \
    --bf16 \
    --logging_steps 10 \
    --save_strategy epoch \
    --output_dir $OUTPUT_DIR
