"""Distills a fine-tuned model into a smaller one.

  python -m run.run_distillation --teacher=sst2 --student_layers=0,2,4 --data_dir=SST-2 \\
      --output_dir=student --hidden_weight=1 --attention_weight=1

The models can be classifiers, span labelers, taggers, or models of multiple choice.
"""

from bert_tf.cli import script
from run.distillation.settings import DistillationSettings

SETTINGS = DistillationSettings()
COMMAND = script.Command(
    SETTINGS,
    "run.distillation.job",
    only=SETTINGS.names(
        "student",
        "data",
        "losses",
        "devices",
        "training",
        "step_settings",
        "tuning",
        "trained_weights",
    )
    | {
        "do_eval",
        "do_predict",
        "test_file",
        "unlabeled_file",
        "replacing_rate",
        "keep_answers",
        "cache_dir",
        "max_seq_length",
    },
)

if __name__ == "__main__":
    COMMAND.run()
