from torch_xla.core.xla_model import get_ordinal as global_ordinal
from torch_xla.core.xla_model import xrt_world_size as world_size

__all__ = ["global_ordinal", "world_size"]
