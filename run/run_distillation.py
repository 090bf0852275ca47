"""Distils a fine-tuned model into a smaller one: classifiers, span labelers, taggers and multiple choice.

  python -m run.run_distillation --teacher=sst2 --student_layers=0,2,4 --data_dir=SST-2 --output_dir=student \\
      --hidden_weight=1 --attention_weight=1 --inner_proportion=0.5
"""

import dataclasses

from bert_tf.cli import flags, script
from run.compression.distillation import teachers
from run.compression.distillation.settings import DistillationSettings

SETTINGS = DistillationSettings()
# The teacher's count; answers are of examples apart.
NOT_ASKED = {"do_train", "keep_head", "vocab_file", "do_lower_case", "strip_accents", "pack_sequences"}
GROUPS = ("student", "data", "losses", "answers", "tokenizer", "devices", "training", "step", "optimizer", "tuning")


def define_flags():
    """Defines this script's flags; those of fine-tuning have its names and meanings."""
    flags.define(SETTINGS, {field.name for group in GROUPS for field in dataclasses.fields(getattr(SETTINGS, group))
                            if field.name not in NOT_ASKED})


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    settings, teacher = teachers.complete(flags.read(SETTINGS), flags.given())
    settings.read_configs(teacher)
    from run.compression.distillation import job

    job.run(settings, teacher)


if __name__ == "__main__":
    script.run(main, define_flags)
