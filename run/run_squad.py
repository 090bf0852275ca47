"""Fine-tunes BERT on SQuAD 1.1 or 2.0, or files in their form, and answers questions.

  python -m run.run_squad --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=squad --do_train --do_predict

  python -m run.run_squad --version_2_with_negative --use_best_threshold --train_file=train-v2.0.json ...
"""

from bert_tf.cli import flags, script
from run.finetuning.settings import FineTuningSettings
from run.finetuning.task_settings import QuestionAnsweringSettings
from run.settings import TokenizerSettings, from_folder

SETTINGS = FineTuningSettings(tokenizer=TokenizerSettings(max_seq_length=384), task=QuestionAnsweringSettings())


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    flags.define(SETTINGS)


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    settings = from_folder.complete(flags.read(SETTINGS), flags.given())
    config = settings.read_config()
    from run.finetuning import job
    from run.finetuning.tasks import QuestionAnswering

    job.run(QuestionAnswering, settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
