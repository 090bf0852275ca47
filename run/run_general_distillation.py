"""Distills a pre-trained model on pre-training records into a smaller one.

  python -m run.run_general_distillation --teacher=uncased_L-12_H-768_A-12 \\
      --student_layers=0,2,4,6,8,10 --input_file='records/*.tfrecord' --output_dir=small \\
      --hidden_weight=1 --num_train_steps=100000

The smaller model can be fine-tuned or distilled later.
"""

from bert_tf.cli import script
from run.distillation.settings import GeneralSettings

SETTINGS = GeneralSettings()
COMMAND = script.Command(
    SETTINGS,
    "run.distillation.job",
    only=SETTINGS.values().keys()
    - SETTINGS.names("model")
    - {"recipe", "do_train", "profile_steps", "phases"},
)

if __name__ == "__main__":
    COMMAND.run()
