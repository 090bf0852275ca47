"""Fine-tunes BERT on sentences or sentence pairs: GLUE, XNLI, or TSV and CSV files of one's own.

  python -m run.run_classifier --task_name=MRPC --data_dir=MRPC --init_checkpoint=uncased_L-12_H-768_A-12 \\
      --output_dir=mrpc --do_train --do_eval

  python -m run.run_classifier --task_name=own --text_a_column=sentence --label_column=label --data_dir=FOLDER ...
"""

from bert_tf.cli import flags, script
from run.finetuning.settings import FineTuningSettings
from run.finetuning.task_settings import ClassificationSettings
from run.settings import from_folder

SETTINGS = FineTuningSettings(task=ClassificationSettings())


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    flags.define(SETTINGS)


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    settings = from_folder.complete(flags.read(SETTINGS), flags.given())
    config = settings.read_config()
    from run.finetuning import job
    from run.finetuning.tasks import Classification

    job.run(Classification, settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
