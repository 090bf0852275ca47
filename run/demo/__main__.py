"""Runs BERT from raw text to a served model, on CPython's documentation, in a few minutes on two CPU cores.

  python -m run.demo --output_dir=demo_output

Every step is a public script with flags that a user would type. The demo prints each command before it runs it.
"""

import dataclasses

from bert_tf.cli import script
from bert_tf.cli.settings import Settings, setting


@dataclasses.dataclass(frozen=True)
class DemoSettings(Settings):
    """Output directory and duration of the demo."""

    output_dir: str = setting(
        "demo_output", "Folder for everything the demo makes; replaced if an earlier demo made it.")
    num_train_steps: int = setting(3000, "Pre-training steps.", lower=1)
    num_train_epochs: float = setting(10.0, "Fine-tuning epochs.", lower=0)


COMMAND = script.Command(DemoSettings(), "run.demo.steps")

if __name__ == "__main__":
    COMMAND.run()
