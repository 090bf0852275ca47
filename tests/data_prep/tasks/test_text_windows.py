"""Windows over texts for classifiers."""

import numpy as np

from data_prep.tasks import glue, text_windows


def test_windows_by_hand_in_several_batches(make_tokenizer, monkeypatch):
    monkeypatch.setattr(text_windows, "ROWS_AT_A_TIME", 2)
    cls, sep, a, b, c, f = 2, 3, 5, 6, 7, 10
    examples = glue.Examples(["1", "2", "3"], ["a", "a b c d", "f"], None, np.array([0, 1, 1], np.int32))
    features, counts, was_cut = text_windows.convert_examples_to_windows(
        examples, make_tokenizer(*"abcdef"), 4, text_windows.Windows(stride=1, max_windows=2))
    assert features["input_ids"].tolist() == [
        [[cls, a, sep, 0], [0] * 4], [[cls, a, b, sep], [cls, b, c, sep]], [[cls, f, sep, 0], [0] * 4]]
    assert (counts.tolist(), was_cut.tolist()) == ([1, 2, 1], [False, True, False])
    assert features["label_ids"].tolist() == [0, 1, 1]
