"""SQuAD 1.1 and 2.0, and files in their format such as KorQuAD: questions, windows, and answers as text.

Windows and prediction files are identical to those of the original BERT's run_squad.py.
"""

from data_prep.tasks.squad.answers import Answers, predict_answers, write_answers
from data_prep.tasks.squad.examples import Example, read_examples
from data_prep.tasks.squad.features import (
    Window,
    WindowStream,
    check_lengths,
    create_arrays,
    record_features,
    write_records,
)

__all__ = ["Answers", "Example", "Window", "WindowStream", "check_lengths", "create_arrays", "predict_answers",
           "read_examples", "record_features", "write_answers", "write_records"]
