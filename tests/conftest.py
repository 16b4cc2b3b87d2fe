"""What all tests share."""

from __future__ import annotations

import os
import sys

# Hundreds of child processes import the rules. Where bytecode is not to be kept, as in many containers, each of them
# would compile them all again, which is half of what these processes cost; so here it is kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
