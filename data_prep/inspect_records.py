"""Prints records as text, with their masks marked, or reports the errors in a file.

    python -m data_prep.inspect_records train.tfrecord --vocab_file=vocab.txt --max_seq_length=128

Checks every record of each file: its checksums, its features, and their lengths. `{may -> [MASK]}`
marks a masked position, where "[MASK]" is the input and "may" is the label. Without --vocab_file,
prints IDs instead of tokens.
"""

from bert_tf.cli import script
from data_prep.records.settings import InspectionSettings

COMMAND = script.Command(
    InspectionSettings(), "data_prep.records.inspection", arguments="input_file"
)

if __name__ == "__main__":
    COMMAND.run()
