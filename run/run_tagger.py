"""Fine-tunes BERT for token classification: NER as in CoNLL-2003, part-of-speech tagging.

  python -m run.run_tagger --train_file=train.txt --dev_file=valid.txt --test_file=test.txt \\
      --init_checkpoint=cased_L-12_H-768_A-12 --output_dir=ner --do_train --do_eval --do_predict

NER is in section 5.3 of the paper.
"""

from bert_tf.cli import script
from data_prep.tasks import token_classifier
from run.finetuning.settings import FineTuningSettings

COMMAND = script.Command(
    FineTuningSettings(task_settings=token_classifier.TokenClassifierSettings()),
    "run.finetuning.job",
)

if __name__ == "__main__":
    COMMAND.run()
