from dataclasses import dataclass, field

from transformers import TrainingArguments


@dataclass
class RunArguments(TrainingArguments):
    model_id: str = field(default="", metadata={"help": "What to train."})
    data: str = field(default="")
    report_to: str = field(default="none")
