"""Numbers that all scripts share."""

TENSOR_PARALLEL_SIZE = 2
MAX_LENGTH = 64
