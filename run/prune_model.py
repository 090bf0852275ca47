"""Prunes the least important attention heads and feed-forward neurons of a fine-tuned model.

  python -m run.prune_model --init_checkpoint=FINE_TUNED_FOLDER --data_dir=MRPC \\
      --keep_heads=0.5 --keep_neurons=0.5 --output_dir=pruned

  python -m run.prune_model ... --rounds=4 --num_train_epochs=1

A tagger or multiple choice requires --train_file and --dev_file, and a span labeler --train_file
and --predict_file, instead of --data_dir. The output is a normal fine-tuned model: use its
directory to evaluate, train, or export it.
"""

from bert_tf.cli import script
from run.pruning.settings import PruneModelSettings

SETTINGS = PruneModelSettings()
EXCLUDED_FLAGS = {
    "save_checkpoints_steps",
    "keep_checkpoint_max",
    "iterations_per_loop",
    "log_steps",
}
COMMAND = script.Command(
    SETTINGS, "run.pruning.job", only=SETTINGS.values().keys() - EXCLUDED_FLAGS
)

if __name__ == "__main__":
    COMMAND.run()
