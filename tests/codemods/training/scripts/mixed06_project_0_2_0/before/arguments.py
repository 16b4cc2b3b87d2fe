from dataclasses import dataclass, field

from optimum.neuron import NeuronTrainingArguments


@dataclass
class RunArguments(NeuronTrainingArguments):
    model_id: str = field(default="", metadata={"help": "What to train."})
    data: str = field(default="")
    report_to: str = field(default="none")
