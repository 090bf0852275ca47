"""Distills a fine-tuned model into a smaller one: classifiers, span labelers, taggers, and multiple choice.

  python -m run.run_distillation --teacher=sst2 --student_layers=0,2,4 --data_dir=SST-2 --output_dir=student \\
      --hidden_weight=1 --attention_weight=1
"""

from bert_tf.cli import script
from run.compression.distillation_settings import DistillationSettings

SETTINGS = DistillationSettings()
# The teacher determines these. Ensembles do not train.
EXCLUDED_FLAGS = {"do_train", "ensemble", "keep_head", "bilstm_head", "vocab_file", "do_lower_case", "strip_accents"}
COMMAND = script.Command(SETTINGS, "run.compression.distillation", only=SETTINGS.names(
    "student", "data", "losses", "answers", "tokenizer", "devices", "training", "step", "optimizer", "tuning",
    "trained_weights", "int8") - EXCLUDED_FLAGS)

if __name__ == "__main__":
    COMMAND.run()
