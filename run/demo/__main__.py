"""Runs BERT from raw text to a served model, on CPython's documentation.

  python -m run.demo --output_dir=demo_output

It takes a few minutes on two CPU cores. Every step is a public script with flags that a user would
type. The demo prints each command before it runs it.
"""

import dataclasses

from bert_tf.cli import script
from bert_tf.cli.settings import Settings, setting
from run.training.settings import MAX_EPOCHS


@dataclasses.dataclass(frozen=True)
class DemoSettings(Settings):
    """Output directory and duration of the demo."""

    output_dir: str = setting(
        "demo_output",
        "Directory for all files of the demo; overwritten if an earlier demo created it.",
    )
    num_train_steps: int = setting(3000, "Number of pre-training steps.", min_value=1)
    num_train_epochs: float = setting(
        10.0, "Number of fine-tuning epochs.", min_value=0, max_magnitude=MAX_EPOCHS
    )


COMMAND = script.Command(DemoSettings(), "run.demo.steps")

if __name__ == "__main__":
    COMMAND.run()
