"""SQuAD 1.1 and 2.0, and files in their format such as KorQuAD.

The modules are about questions, features, and answers as text. Features and prediction files are
identical to those of the original BERT's run_squad.py.
"""

from data_prep.datasets.squad import Example, read_examples
from data_prep.tasks.squad.answers import Answers, predict_answers, write_answers, write_predictions
from data_prep.tasks.squad.features import (
    WindowFeatures,
    check_lengths,
    convert_examples_to_features,
    create_arrays,
    record_features,
    write_window_records,
)

__all__ = [
    "Answers",
    "Example",
    "WindowFeatures",
    "check_lengths",
    "convert_examples_to_features",
    "create_arrays",
    "predict_answers",
    "read_examples",
    "record_features",
    "write_answers",
    "write_predictions",
    "write_window_records",
]
