"""Static shapes where the libraries have no setting for them.

Trainium compiles once for each input shape. ``SFTConfig(pad_to_multiple_of=128)`` and the collators of transformers
cover the usual training run; these functions are for the rest: a collator of one's own, prompts, a warm-up.
"""
