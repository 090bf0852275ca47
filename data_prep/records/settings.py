"""The settings of inspect_records."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, setting


@dataclasses.dataclass(frozen=True)
class InspectionSettings(Settings):
    """Settings for the records to read, their expected lengths, and the number to print."""

    input_file: str | None = setting(
        None,
        "TFRecord files: comma-separated paths, glob patterns, or directories, also accepted "
        "without this flag.",
        rules=[Required()],
        role=roles.INPUT_FILES,
    )
    vocab_file: str | None = setting(
        None, "Vocabulary that the records were created with.", role=roles.INPUT_FILE
    )
    num_records: int = setting(3, "Number of records of each file to print.", min_value=0)
    max_seq_length: int | None = setting(
        None,
        "Required value of the records. Defaults to the value of the first record.",
        min_value=1,
    )
    max_predictions_per_seq: int | None = setting(
        None,
        "Required value of the records. Defaults to the value of the first record.",
        min_value=1,
    )
