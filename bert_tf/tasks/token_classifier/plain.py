"""The answer of a token classifier without TensorFlow, which graph.py computes in TensorFlow."""

import numpy as np

from bert_tf.tasks.answers import softmax, to_byte_strings
from bert_tf.tasks.kind import MAX_WINDOWS
from bert_tf.tokenization.plain import join_ids, list_word_windows


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response of serving_default; see `bert_tf.tasks.answers`."""
    # Like TensorFlow, bytes.split() only recognizes ASCII white space.
    words = [[word.decode() for word in text.encode().split()] for text in texts[0]]
    pieces = [[tokenizer.ids(word) or [tokenizer.unk_id] for word in row] for row in words]
    windows = []
    for text, row in enumerate(pieces):
        spans = list_word_windows(list(map(len, row)), metadata.max_seq_length - 2)
        windows += [(text, start, stop) for start, stop in spans[:MAX_WINDOWS]]
    rows = [
        join_ids(
            tokenizer,
            [id_ for word in pieces[text][start:stop] for id_ in word],
            None,
            metadata.max_seq_length,
        )
        for text, start, stop in windows
    ]
    tags = [[] for _ in words]
    scores = np.zeros([len(words), max([1, *map(len, words)])], np.float32)
    was_cut = np.zeros(len(words), bool)
    for (text, start, stop), row, output in zip(windows, rows, buckets.run(rows), strict=True):
        firsts = 1 + np.cumsum([0, *map(len, pieces[text][start : stop - 1])])  # 1 for [CLS]
        probabilities = softmax(output["logits"][firsts])  # [words, LA]
        tags[text] += [metadata.labels[number] for number in probabilities.argmax(axis=-1)]
        scores[text, start:stop] = probabilities.max(axis=-1)
        was_cut[text] |= row.was_cut
    has_more = [len(row) > len(tagged) for row, tagged in zip(words, tags, strict=True)]
    was_cut |= np.array(has_more, bool)
    width = scores.shape[1]
    return {
        "words": to_byte_strings(words, width),
        "tags": to_byte_strings(tags, width),
        "scores": scores,
        "num_words": np.array(list(map(len, words)), np.int32),
        "was_cut": was_cut,
    }
