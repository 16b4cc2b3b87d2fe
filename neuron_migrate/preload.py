"""Imported once by the server that workers are forked from, so that none of them has to import the rules."""

from __future__ import annotations

from neuron_codemods import arguments, collect, migrate, registry
from neuron_migrate import worker

__all__ = ["arguments", "collect", "migrate", "registry", "worker"]  # arguments brings libcst

registry.rules()
