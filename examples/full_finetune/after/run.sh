#!/usr/bin/env bash
# trn1.32xlarge: 32 cores, tensor parallel 2 (see train.py), data parallel 16
export NEURON_CC_FLAGS="--model-type=transformer --distribution-strategy=llm-training"
export TORCH_NEURONX_NEFF_CACHE_DIR=/home/ubuntu/neuron_cache
export FI_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1

ARGS="--model_id meta-llama/Llama-3.2-1B --data_file corpus.jsonl --block_size 2048 --output_dir out --lr 1e-4"

# 2. train
torchrun --nproc_per_node=32 train.py $ARGS --epochs 1
