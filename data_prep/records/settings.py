"""The settings of inspect_records."""

import dataclasses

from bert_tf.cli import places
from bert_tf.cli.settings import Settings, setting


@dataclasses.dataclass(frozen=True)
class InspectionSettings(Settings):
    """Settings for the records to read, their expected lengths, and the number of records to print.

    Raises:
      InputError: On construction. The message names the field, its value, and valid values.
    """

    input_file: str | None = setting(
        None, "TFRecord files: comma-separated paths or glob patterns; they may be named without this flag, too.",
        required=True, place=places.INPUT_FILES)
    vocab_file: str | None = setting(None, "Vocabulary with which the records were made.",
                                      place=places.INPUT_FILE)
    num_records: int = setting(3, "How many records of each file are printed.", lower=0)
    max_seq_length: int | None = setting(
        None, "What the records must have been made with; unless given, what the first one has.")
    max_predictions_per_seq: int | None = setting(
        None, "What the records must have been made with; unless given, what the first one has.")
