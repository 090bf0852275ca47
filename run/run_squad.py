"""Fine-tunes BERT for question answering on SQuAD 1.1 or 2.0, and answers questions.

  python -m run.run_squad --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=squad --do_train --do_predict

  python -m run.run_squad --version_2_with_negative --use_best_threshold \\
      --train_file=train-v2.0.json ...

Other files in the format of SQuAD work too.
"""

from bert_tf.cli import script
from bert_tf.cli.model_settings import TokenizerSettings
from data_prep.tasks import span_labeler
from run.finetuning.settings import FineTuningSettings
from run.training.settings import OriginalDeviceSettings

SETTINGS = FineTuningSettings(
    tokenizer=TokenizerSettings(max_seq_length=384),
    devices=OriginalDeviceSettings(),
    task_settings=span_labeler.SpanLabelerSettings(),
)
COMMAND = script.Command(SETTINGS, "run.finetuning.job")

if __name__ == "__main__":
    COMMAND.run()
