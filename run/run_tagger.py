"""Fine-tunes BERT to tag words: named entities as in CoNLL-2003 (section 5.3 of the paper), parts of speech.

  python -m run.run_tagger --train_file=train.txt --dev_file=valid.txt --test_file=test.txt \\
      --init_checkpoint=cased_L-12_H-768_A-12 --output_dir=ner --do_train --do_eval --do_predict

With --frozen_features=concat_last_four, or another of table 7, it trains a BiLSTM on the frozen encoder's vectors.
"""

from bert_tf.cli import script
from run.finetuning.frozen_settings import TaggerSettings

COMMAND = script.Command(TaggerSettings(), "run.finetuning.frozen_table")

if __name__ == "__main__":
    COMMAND.run()
