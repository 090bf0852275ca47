"""Fine-tunes BERT for token classification: NER as in CoNLL-2003 (section 5.3 of the paper), part-of-speech tagging.

  python -m run.run_tagger --train_file=train.txt --dev_file=valid.txt --test_file=test.txt \\
      --init_checkpoint=cased_L-12_H-768_A-12 --output_dir=ner --do_train --do_eval --do_predict

With --frozen_features=concat_last_four, or another row of table 7, it trains a BiLSTM on a frozen encoder's embeddings.
"""

from bert_tf.cli import script
from data_prep.tasks import token_classifier
from run.finetuning.frozen_settings import TransferSettings

COMMAND = script.Command(TransferSettings(task=token_classifier.Settings()), "run.finetuning.frozen_table")

if __name__ == "__main__":
    COMMAND.run()
