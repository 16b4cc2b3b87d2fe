#!/usr/bin/env bash
# Usage: launch.sh [compile|train]
set -euo pipefail
cd "$(dirname "$0")"

MODE=${1:-train}
NODES=${SLURM_NNODES:-1}
PROCESSES_PER_NODE=32
TP_DEGREE=${TP_DEGREE:-8}
OUTPUT_DIR=${OUTPUT_DIR:-output}

# Neuron runtime and compiler
export NEURON_FUSE_SOFTMAX=1 NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
export NEURON_CC_FLAGS="--model-type transformer --retry_failed_compilation --cache_dir=/mnt/cache/neuron"
export NEURON_RT_STOCHASTIC_ROUNDING_EN=1
export XLA_DOWNCAST_BF16=0
export MALLOC_ARENA_MAX=64 # the host runs out of memory without it

# EFA, on several nodes
if [ "$NODES" -gt 1 ]; then
  export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1
fi

DATA_ARGS=(
  --data_file "${DATA_FILE:-/mnt/data/dialogues.jsonl}"
  --block_size 4096
)

TRAIN_ARGS=(
  --do_train
  --bf16
  --per_device_train_batch_size 1
  --gradient_accumulation_steps 8
  --learning_rate 1e-5
  --lr_scheduler_type cosine
  --warmup_ratio 0.05
  --logging_steps 5
  --save_strategy epoch
  --output_dir "$OUTPUT_DIR"
  --overwrite_output_dir
  # how the model is spread
  --tensor_parallel_size "$TP_DEGREE"
  --zero_1
  --async_save
)

# A few steps are enough to see all graphs.
if [[ "${NEURON_EXTRACT_GRAPHS_ONLY:-0}" == "1" || "$MODE" == "compile" ]]; then
  TRAIN_ARGS+=(--max_steps 10)
else
  TRAIN_ARGS+=(--num_train_epochs 3)
fi

RUN=(torchrun --nproc_per_node "$PROCESSES_PER_NODE")
if [ "$NODES" -gt 1 ]; then
  RUN+=(--nnodes "$NODES" --rdzv_backend c10d --rdzv_endpoint "$MASTER_ADDR:29500")
fi

case "$MODE" in
  compile)
    neuron_parallel_compile "${RUN[@]}" train.py --model_id Qwen/Qwen3-8B "${DATA_ARGS[@]}" "${TRAIN_ARGS[@]}"
    ;;
  train)
    "${RUN[@]}" train.py --model_id Qwen/Qwen3-8B "${DATA_ARGS[@]}" "${TRAIN_ARGS[@]}"

    # The ranks have saved their shards: make one checkpoint of them.
    optimum-cli neuron consolidate "$OUTPUT_DIR" "$OUTPUT_DIR"
    ;;
  *)
    echo "usage: $0 [compile|train]" >&2
    exit 2
    ;;
esac
