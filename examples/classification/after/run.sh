#!/bin/bash
export NEURON_CC_FLAGS="--model-type=transformer"
export TORCH_NEURONX_NEFF_CACHE_DIR=./compiler_cache

torchrun --nproc_per_node=2 run_classification.py \
  --model_name_or_path bert-base-uncased \
  --train_file train.jsonl \
  --validation_file validation.jsonl \
  --do_train \
  --do_eval \
  --do_predict \
  --bf16 \
  --max_length 128 \
  --learning_rate 5e-5 \
  --warmup_steps 0.1 \
  --num_train_epochs 3 \
  --per_device_train_batch_size 16 \
  --eval_strategy epoch \
  --save_strategy epoch \
  --load_best_model_at_end \
  --output_dir bert_output \
  --overwrite_output_dir
