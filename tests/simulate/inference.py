"""Migrated scripts for compiled models, run one after the other:  python -m neuron_shim.simulate inference.py FOLDER

Prints for each what went wrong, or where its model lies and how many graphs it has compiled.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from neuron_codemods import migrate
from neuron_shim import simulate
from tests.inference import models

SCRIPTS = {
    "encoder": """
from optimum.neuron import NeuronModelForSequenceClassification
from transformers import AutoTokenizer

shapes = {"batch_size": 1, "sequence_length": 16}
model = NeuronModelForSequenceClassification.from_pretrained("classifier", export=True, **shapes)
tokenizer = AutoTokenizer.from_pretrained("classifier")
for text in ("w1", "w1 w2", "w1 w2 w3"):
    scores = model(**tokenizer(text, return_tensors="pt")).logits.detach().numpy()
""",
    "encoder-decoder": """
from optimum.neuron import NeuronModelForSeq2SeqLM
from transformers import AutoTokenizer

model = NeuronModelForSeq2SeqLM.from_pretrained("seq2seq", export=True, batch_size=1, sequence_length=16)
tokenizer = AutoTokenizer.from_pretrained("seq2seq")
for text in ("w1", "w1 w2", "w1 w2 w3"):
    outputs = model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=4)
""",
    "speech": """
from optimum.neuron import NeuronWhisperForConditionalGeneration
from transformers import AutoFeatureExtractor

model = NeuronWhisperForConditionalGeneration.from_pretrained("speech", export=True, batch_size=1, sequence_length=64)
extractor = AutoFeatureExtractor.from_pretrained("speech")
for length in (800, 1600):
    features = extractor([0.0] * length, sampling_rate=16000, return_tensors="pt").input_features
    outputs = model.generate(features, max_new_tokens=4)
""",
    "sentences": """
from optimum.neuron import NeuronSentenceTransformers

model = NeuronSentenceTransformers.from_pretrained("sentences", export=True, batch_size=1, sequence_length=16)
for text in ("w1", "w1 w2", "w1 w2 w3"):
    embeddings = model.encode([text])
""",
    "pipeline": """
from optimum.neuron import pipeline

pipe = pipeline("text-classification", model="classifier", export=True, input_shapes={"sequence_length": 16})
for text in ("w1", "w1 w2", "w1 w2 w3"):
    label = pipe(text)
model = pipe.model
""",
}


def run(before: str) -> dict[str, Any]:
    graphs = len(simulate.compiled_graphs())
    namespace: dict[str, Any] = {"__name__": "script"}
    exec(compile(migrate(before).text, "<migrated>", "exec"), namespace)
    return {"device": namespace["model"].device.type, "graphs": len(simulate.compiled_graphs()) - graphs}


def main() -> None:
    os.chdir(sys.argv[1])
    models.build(Path())
    results: dict[str, Any] = {}
    for name, script in SCRIPTS.items():
        try:
            results[name] = run(script)
        except Exception:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
