"""Distils a pre-trained model on pre-training records into a smaller one, which is fine-tuned, or distilled, later.

  python -m run.run_general_distillation --teacher=uncased_L-12_H-768_A-12 --student_layers=0,2,4,6,8,10 \\
      --input_file='records/*.tfrecord' --output_dir=small --hidden_weight=1 --num_train_steps=100000
"""

import dataclasses

from bert_tf.cli import flags, script
from run.compression.distillation.general_settings import GeneralSettings

SETTINGS = GeneralSettings()
NOT_ASKED = {"do_train", "replacing_rate", "replacing_proportion", "recipe", "phases"}
GROUPS = ("student", "losses", "records", "devices", "schedule", "training", "step", "optimizer")


def define_flags():
    """Defines this script's flags; those of pre-training have its names and meanings."""
    flags.define(SETTINGS, {field.name for group in GROUPS for field in dataclasses.fields(getattr(SETTINGS, group))
                            if field.name not in NOT_ASKED})


def main(argv):
    """Checks the flags, then trains and evaluates."""
    del argv
    settings, teacher = flags.read(SETTINGS).completed()
    config = settings.read_student(teacher)
    from run.compression.distillation import general_job

    general_job.run(settings, config, teacher)


if __name__ == "__main__":
    script.run(main, define_flags)
