"""Correct predictions; spans of random scores, the same from the graph and from plain Python."""

import numpy as np
import pytest
import tensorflow as tf
from official.nlp.tools import squad_evaluate_v2_0

from bert_tf.tasks import KINDS
from bert_tf.tasks.span_labeler import decoding, plain
from bert_tf.tasks.span_labeler.graph import extract_span_texts, rank_spans, split_contexts
from bert_tf.tasks.span_labeler.task import normalize_answer
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.model_inputs import split_into_windows
from bert_tf.tokenization.plain import PlainTokenizer

LENGTH = 29
STRIDE = 5
MAX_WINDOWS = 6
LONGEST_ANSWER = 7
CONTEXTS = 700  # of each case; 4.3 windows each


def decode(context, scores, begins):
    """Returns the spans of a context in NumPy: list of (score, first token, last token)."""
    fullest = decoding.find_fullest_windows(context)
    spans = decoding.find_spans(
        [
            decoding.ScoredWindow(
                begin,
                fullest[start : start + length] == number,
                *scores[:, number, : begin + length + 1],
            )
            for number, ((start, length), begin) in enumerate(zip(context, begins, strict=True))
        ],
        decoding.N_BEST_SIZE,
        LONGEST_ANSWER,
    )
    sums = spans.start_scores + spans.end_scores
    shifts = np.array([window.start for window in context]) - begins
    return [
        (
            sums[place],
            spans.starts[place] + shifts[spans.windows[place]],
            spans.ends[place] + shifts[spans.windows[place]],
        )
        for place in decoding.rank(sums, decoding.N_BEST_SIZE)
    ]


@pytest.mark.parametrize("places", [7, 1, 0])  # the fewer decimal places, the more equal scores
@pytest.mark.parametrize("seed", range(2))
def test_the_graph_equals_numpy_on_random_windows(places, seed):
    generator = np.random.default_rng(seed)
    totals = generator.integers(0, 41, CONTEXTS)
    rooms = generator.integers(3, LENGTH - 3, CONTEXTS)
    contexts, were_cut = zip(
        *(
            decoding.list_windows(int(total), int(room), STRIDE, MAX_WINDOWS)
            for total, room in zip(totals, rooms, strict=True)
        ),
        strict=True,
    )
    ids = tf.RaggedTensor.from_row_lengths(tf.zeros([totals.sum()], tf.int32), totals)
    windows = split_into_windows(ids, tf.constant(rooms), STRIDE, MAX_WINDOWS)
    assert [(*each,) for context in contexts for each in context] == list(
        zip(windows.starts.numpy(), windows.lengths.numpy(), strict=True)
    )
    assert list(were_cut) == windows.was_cut.numpy().tolist()
    rows = windows.rows.numpy()
    assert len(rows) > 1700

    begins = LENGTH - 1 - rooms[rows]  # after [CLS], a question that leaves this room, and [SEP]
    mask = np.arange(LENGTH) < (begins + windows.lengths.numpy() + 1)[:, np.newaxis]
    scores = generator.normal(size=[2, len(rows), LENGTH]).astype(np.float32).round(places)
    found = rank_spans(
        windows,
        {"input_mask": tf.constant(mask, tf.int32)},
        {"start_logits": tf.constant(scores[0]), "end_logits": tf.constant(scores[1])},
        ids,
        LONGEST_ANSWER,
    )
    by_context = [found.scores.to_list(), found.first.to_list(), found.last.to_list()]
    begin_of = ids.row_starts().numpy()
    for number, (context, *of_graph) in enumerate(zip(contexts, *by_context, strict=True)):
        own = rows == number
        expected = decode(context, scores[:, own], begins[own])
        assert [
            (score, first - begin_of[number], last - begin_of[number])
            for score, first, last in zip(*of_graph, strict=True)
        ] == expected


VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"東京大学日本国は。",
    "fun",
    "cafe",
    "##s",
    "x",
    ".",
]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return BertTokenizer(str(path)), PlainTokenizer(VOCABULARY, True, True)


@pytest.mark.parametrize(
    ("context", "first", "last", "expected"),
    [
        ("東京大学日本国\u200b", 2, 3, "大学"),  # dropped by the tokenizer
        ("東京\u200b大学日本国", 2, 3, "大学"),
        ("東京は大学。東京は犬。", 6, 7, "東京"),  # a word with [UNK] elsewhere
        ("東京 大学 日本国\ufe0f", 1, 3, "京 大学"),
        ("x (Cafe\u0301s) .", 2, 3, "Cafe\u0301s"),  # an accent belongs to the token before it
        ("x  \u202f fun\n.", 0, 2, "x fun ."),
    ],
)
def test_the_source_of_a_span(tokenizers, context, first, last, expected):
    # Tokens are counted over all contexts.
    pieces = split_contexts(tokenizers[0], tf.constant(["x fun", context]))
    of_graph = extract_span_texts(
        pieces,
        tf.constant([1], tf.int64),
        *(tf.constant([2 + token], tf.int64) for token in (first, last)),
    )
    context_tokens = plain.split(tokenizers[1], context)
    assert context_tokens.ids == pieces.ids[1].numpy().tolist()
    found = context_tokens.span_text(first, last)
    assert found.text == of_graph.texts[0].numpy().decode() == expected
    assert (found.start, found.end) == (int(of_graph.starts[0]), int(of_graph.ends[0]))
    assert " ".join(context[found.start : found.end].split()) == expected


@pytest.mark.parametrize(
    ("kind", "row", "expected", "is_right"),
    [
        ("classifier", {"label": "no"}, "no", True),
        ("classifier", {"labels": ["no", "yes"]}, ["no"], False),
        ("token_classifier", {"tags": ["O", "B-X"]}, ["O", "B-X"], True),
        ("multiple_choice", {"choice": 2}, 1, False),
        ("span_labeler", {"answer": "The  dog."}, ("a cat", "Dog"), True),
        ("span_labeler", {"answer": ""}, (), True),
        ("span_labeler", {"answer": ""}, ("the",), True),  # articles are ignored
        ("span_labeler", {"answer": "dog"}, (), False),
    ],
)
def test_correct_predictions(kind, row, expected, is_right):
    assert KINDS[kind].is_right(row, expected) == is_right


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The an A",
        "the-an",
        "Theater, a.m.",
        "an\u00a0apple \t ARE\nthe\u2009end",
        "U.S.A. (a)",
        "\u0130an \u00e4 the\u0301",
    ],
)
def test_answers_are_normalized_as_in_squad(text):
    assert normalize_answer(text) == squad_evaluate_v2_0._normalize_answer(text)
