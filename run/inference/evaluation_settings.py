"""Settings of the comparison of models.

Scripts define flags from it, without TensorFlow.
"""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, setting
from run.finetuning.settings import (
    EvaluationDataSettings,
)


@dataclasses.dataclass(frozen=True)
class ModelEvaluationSettings(Settings):
    """Models of one task, and the development data to evaluate them on."""

    data: EvaluationDataSettings = dataclasses.field(default_factory=EvaluationDataSettings)
    models: tuple[str, ...] = setting(
        (),
        "Models of one task: directories of fine-tuning runs or other checkpoints, SavedModels, "
        "and .tflite files. The first must be a checkpoint; an export is evaluated on the "
        "features of the checkpoint before it. Required.",
        rules=[Required()],
        role=roles.INPUT,
    )
    max_seq_length: int | None = setting(
        None,
        "Maximum sequence length in tokens. Defaults to the length in each checkpoint's task.json.",
        min_value=4,
    )
    eval_batch_size: int = setting(32, "Batch size for evaluation.", min_value=1)
    int8_matrices: bool = setting(
        False,
        "Also evaluate the first model with each matrix rounded to int8 separately, and with all "
        "of them, as in a LiteRT file with int8 weights.",
    )
    output_file: str | None = setting(
        None, "JSON file for the printed results.", role=roles.OUTPUT_FILE
    )
