"""Fine-tunes BERT on multiple choice between continuations or answers: SWAG, RACE.

  python -m run.run_multiple_choice --train_file=swag/train.csv --dev_file=swag/val.csv \\
      --test_file=swag/test.csv --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=out \\
      --train_batch_size=16 --learning_rate=2e-5 --do_train --do_eval --do_predict

SWAG is in section 4.4 of the paper.
"""

from bert_tf.cli import script
from data_prep.tasks import multiple_choice
from run.finetuning.settings import FineTuningSettings

SETTINGS = FineTuningSettings(task_settings=multiple_choice.MultipleChoiceSettings())
COMMAND = script.Command(SETTINGS, "run.finetuning.job")

if __name__ == "__main__":
    COMMAND.run()
