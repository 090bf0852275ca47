"""Prints records as text, with their masks marked, or says what is wrong with a file.

    python -m data_prep.inspect_records train.tfrecord --vocab_file=vocab.txt --max_seq_length=128

Every record of each file is checked: its checksums, its features, their lengths. `{may -> [MASK]}` marks a masked
position: "may" is to be predicted, "[MASK]" stands there. Without --vocab_file, ids stand for pieces.
"""

from bert_tf.cli import script
from data_prep.records import InspectionSettings

COMMAND = script.Command(InspectionSettings(), "data_prep.records.inspection", arguments="input_file")

if __name__ == "__main__":
    COMMAND.run()
