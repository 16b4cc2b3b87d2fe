"""Checkpoints: export to plain safetensors (``export``), and resuming a sharded run (``resume``).

Nothing is imported here: ``neuron_shim.export_checkpoint`` and ``neuron_shim.ResumeCallback`` load what they need.
"""
