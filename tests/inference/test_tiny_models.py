"""Scripts for compiled models run after migration, on tiny models on the CPU: outputs have the shapes of before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from . import models

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Run = Callable[..., dict[str, Any]]

ENCODER = """
import torch
from optimum.neuron import {kind}
from transformers import AutoTokenizer

compiler_args = {{"auto_cast": "none"}}
input_shapes = {{"batch_size": 1, "sequence_length": 16}}
model = {kind}.from_pretrained("{folder}", export=True, **input_shapes, **compiler_args)
model.save_pretrained("compiled")
model = {kind}.from_pretrained("compiled")
tokenizer = AutoTokenizer.from_pretrained("{folder}")
shapes = []
for text in ("w1 w2", "w3 w4 w5 w6", "w7"):
    inputs = tokenizer(text, return_tensors="pt")
    shapes.append(tuple(inputs["input_ids"].shape))
    with torch.no_grad():
        outputs = model(**inputs)
"""


@pytest.mark.parametrize(
    ("kind", "folder", "output", "shape"),
    [
        ("NeuronModelForSequenceClassification", "classifier", "logits", (1, 2)),
        ("NeuronBertForSequenceClassification", "classifier", "logits", (1, 2)),
        ("NeuronModelForMaskedLM", "masked", "logits", (1, 16, models.VOCABULARY)),
        ("NeuronModelForTokenClassification", "tagger", "logits", (1, 16, 2)),
        ("NeuronModelForFeatureExtraction", "encoder", "last_hidden_state", (1, 16, 32)),
    ],
)
def test_text_encoders(migrated: Run, kind: str, folder: str, output: str, shape: tuple[int, ...]) -> None:
    found = migrated(ENCODER.format(kind=kind, folder=folder))
    assert tuple(found["outputs"][output].shape) == shape
    assert found["shapes"] == [(1, 16)] * 3
    assert str(found["model"].dtype) == "torch.float32"


def test_padding_does_not_change_what_is_said_of_a_text(migrated: Run, folders: Any) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    found = migrated(ENCODER.format(kind="NeuronModelForSequenceClassification", folder="classifier"))
    plain = AutoModelForSequenceClassification.from_pretrained(folders / "classifier")
    with torch.no_grad():
        wanted = plain(**AutoTokenizer.from_pretrained(folders / "classifier")("w7", return_tensors="pt")).logits
    torch.testing.assert_close(found["outputs"].logits, wanted, atol=1e-5, rtol=1e-4)


def test_images(migrated: Run) -> None:
    import torch

    script = """
from optimum.neuron import NeuronModelForImageClassification
from transformers import AutoImageProcessor

processor = AutoImageProcessor.from_pretrained("images")
model = NeuronModelForImageClassification.from_pretrained("images", export=True, batch_size=1, dynamic_batch_size=True)
inputs = processor(images=image, return_tensors="pt")
scores = model(**inputs).logits.detach().numpy()
"""
    image = torch.zeros(3, models.SIDE, models.SIDE, dtype=torch.uint8)
    assert migrated(script, image=image)["scores"].shape == (1, 2)


def test_images_and_texts(migrated: Run) -> None:
    import torch

    script = """
from optimum.neuron import NeuronCLIPModel
from transformers import AutoImageProcessor, AutoTokenizer

shapes = {"text_batch_size": 2, "image_batch_size": 1, "sequence_length": 16, "num_channels": 3, "height": 32}
model = NeuronCLIPModel.from_pretrained("clip", export=True, **shapes)
tokenizer = AutoTokenizer.from_pretrained("clip")
processor = AutoImageProcessor.from_pretrained("clip")
texts = tokenizer(["w1 w2 </s>", "w3 </s>"], return_tensors="pt", padding=True)
images = processor(images=image, return_tensors="pt")
outputs = model(
    input_ids=texts["input_ids"], pixel_values=images["pixel_values"], attention_mask=texts["attention_mask"]
)
"""
    image = torch.zeros(3, models.SIDE, models.SIDE, dtype=torch.uint8)
    found = migrated(script, image=image)
    assert tuple(found["outputs"].logits_per_image.shape) == (1, 2)
    assert tuple(found["texts"]["input_ids"].shape) == (2, 16)


def test_speech_to_characters(migrated: Run) -> None:
    script = """
import torch
from optimum.neuron import NeuronModelForCTC
from transformers import AutoFeatureExtractor

extractor = AutoFeatureExtractor.from_pretrained("ctc")
model = NeuronModelForCTC.from_pretrained("ctc", export=True, batch_size=1, audio_sequence_length=4000)
inputs = extractor([0.0] * 1600, sampling_rate=16000, return_tensors="pt")
predicted = torch.argmax(model(**inputs).logits, dim=-1)
"""
    found = migrated(script)
    assert tuple(found["inputs"]["input_values"].shape) == (1, 4000)
    assert found["predicted"].shape[0] == 1


def test_speech_to_text(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronWhisperForConditionalGeneration
from transformers import AutoFeatureExtractor

extractor = AutoFeatureExtractor.from_pretrained("speech")
model = NeuronWhisperForConditionalGeneration.from_pretrained(
    "speech", export=True, batch_size=1, sequence_length=64, inline_weights_to_neff=False, auto_cast="all"
)
features = extractor([0.0] * 1600, sampling_rate=16000, return_tensors="pt").input_features
predicted = model.generate(features, max_new_tokens=4)
"""
    found = migrated(script)
    assert found["predicted"].shape[0] == 1
    assert str(found["model"].dtype) == "torch.bfloat16"


def test_sequences_to_sequences(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronModelForSeq2SeqLM
from transformers import AutoTokenizer

model = NeuronModelForSeq2SeqLM.from_pretrained("seq2seq", export=True, batch_size=1, sequence_length=16, num_beams=2)
model.save_pretrained("compiled")
del model
model = NeuronModelForSeq2SeqLM.from_pretrained("compiled")
tokenizer = AutoTokenizer.from_pretrained("compiled")
lengths = []
for text in ("w1", "w1 w2 w3"):
    inputs = tokenizer(text, return_tensors="pt")
    lengths.append(inputs["input_ids"].shape[1])
    outputs = model.generate(**inputs, max_new_tokens=4, num_return_sequences=2)
"""
    found = migrated(script)
    assert found["outputs"].shape[0] == 2
    assert found["lengths"] == [16, 16]


DECODER = """
import torch
from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

compiler_args = {"num_cores": 2, "auto_cast_type": "fp32"}
input_shapes = {"batch_size": 2, "sequence_length": 32}
model = NeuronModelForCausalLM.from_pretrained("decoder", export=True, **compiler_args, **input_shapes)
tokenizer = AutoTokenizer.from_pretrained("decoder")


def answer(prompts):
    if model.neuron_config.batch_size > len(prompts):
        prompts = prompts * model.neuron_config.batch_size
    tokens = tokenizer(prompts, return_tensors="pt", padding=True).to(model.device)
    with torch.inference_mode():
        return model.generate(**tokens, max_new_tokens=4, min_new_tokens=4, do_sample=False)


answers = answer(["w1 w2 w3", "w4"])
doubled = answer(["w4"])
"""


def test_decoders(migrated: Run, folders: Any) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    found = migrated(DECODER)
    assert tuple(found["answers"].shape) == (2, 7)
    assert tuple(found["doubled"].shape) == (2, 5)
    plain = AutoModelForCausalLM.from_pretrained(folders / "decoder")
    short = plain.generate(torch.tensor([[9]]), max_new_tokens=4, min_new_tokens=4, do_sample=False)
    assert found["answers"][1, -4:].tolist() == found["doubled"][0, -4:].tolist() == short[0, -4:].tolist()


def test_a_configuration_of_the_compiled_decoder(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronModelForCausalLM

config = NeuronModelForCausalLM.get_neuron_config("decoder", batch_size=1, sequence_length=32, tensor_parallel_size=1)
model = NeuronModelForCausalLM.export("decoder", neuron_config=config, load_weights=False)
model.save_pretrained("compiled")
model = NeuronModelForCausalLM.from_pretrained("compiled")
outputs = model.generate(prompt, max_new_tokens=4, min_new_tokens=4)
"""
    import torch

    found = migrated(script, prompt=torch.tensor([[2, 7, 9]]))
    assert tuple(found["outputs"].shape) == (1, 7)
    assert found["model"]._previous_max_cache_length == 32


@pytest.mark.parametrize(
    ("task", "folder", "text", "keys"),
    [
        ("text-classification", "classifier", "w1 w2", {"label", "score"}),
        ("fill-mask", "masked", "w1 <mask>", {"score", "token", "token_str", "sequence"}),
        ("token-classification", "tagger", "w1 w2", {"entity", "score", "index", "word", "start", "end"}),
        ("text-generation", "decoder", "w1 w2", {"generated_text"}),
    ],
)
def test_pipelines(migrated: Run, task: str, folder: str, text: str, keys: set[str]) -> None:
    script = f"""
from optimum.neuron import pipeline

shapes = {{"batch_size": 1, "sequence_length": 16}}
pipe = pipeline("{task}", model="{folder}", export=True, input_shapes=shapes)
results = pipe("{text}")
"""
    assert set(migrated(script)["results"][0]) == keys


def test_sentences(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronModelForSentenceTransformers
from transformers import AutoTokenizer

model = NeuronModelForSentenceTransformers.from_pretrained("sentences", export=True, batch_size=1, sequence_length=16)
tokenizer = AutoTokenizer.from_pretrained("sentences")
inputs = tokenizer(["w1 w2"], return_tensors="pt")
outputs = model(**inputs)
embedding, tokens = outputs.sentence_embedding, outputs.token_embeddings
"""
    found = migrated(script)
    assert tuple(found["embedding"].shape) == (1, 32)
    assert tuple(found["tokens"].shape) == (1, 16, 32)


def test_encoded_sentences(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronSentenceTransformers

model = NeuronSentenceTransformers.from_pretrained("sentences", export=True, batch_size=2, sequence_length=16)
embeddings = model.encode(["w1 w2", "w3"])
features = model.tokenize(["w1 w2", "w3"], padding=True, return_tensors="pt")
"""
    found = migrated(script)
    assert found["embeddings"].shape == (2, 32)
    assert tuple(found["features"]["input_ids"].shape) == (2, 16)


def test_embeddings_of_a_decoder(migrated: Run) -> None:
    script = """
from optimum.neuron import NeuronModelForEmbedding
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("sentences")
config = NeuronModelForEmbedding.get_neuron_config("sentences", batch_size=2, sequence_length=16)
model = NeuronModelForEmbedding.export("sentences", neuron_config=config, load_weights=True)
embeddings = model(**tokenizer(["w1 w2", "w3"], padding=True, return_tensors="pt"))
"""
    assert tuple(migrated(script)["embeddings"].shape) == (2, 32)
