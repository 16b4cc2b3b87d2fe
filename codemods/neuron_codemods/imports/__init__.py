"""Import statements: rewritten where they stand, with the user's aliases kept and collisions avoided.

``naming`` says under which name new code reaches an object, ``places`` where an import may stand, ``plan`` decides
what becomes of each import statement, ``sites`` is what it decides on, ``writing`` turns that into edits, and
``leftovers`` finds the imports that only the old code needed.
"""

from neuron_codemods.imports.leftovers import left_over
from neuron_codemods.imports.naming import (
    existing_import,
    is_exported,
    is_taken,
    is_unused,
    local_name,
    must_keep_name,
    why_wanted,
)
from neuron_codemods.imports.places import Use, first_import, guard, last_import, optional_import, uses_in
from neuron_codemods.imports.plan import Plan

__all__ = [
    "Plan",
    "Use",
    "existing_import",
    "first_import",
    "guard",
    "is_exported",
    "is_taken",
    "is_unused",
    "last_import",
    "left_over",
    "local_name",
    "must_keep_name",
    "optional_import",
    "uses_in",
    "why_wanted",
]
