"""Correct predictions; spans of random scores, the same from the graph and from plain Python."""

import dataclasses

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
            sums[index],
            spans.starts[index] + shifts[spans.windows[index]],
            spans.ends[index] + shifts[spans.windows[index]],
        )
        for index in decoding.rank(sums, decoding.N_BEST_SIZE)
    ]


@pytest.mark.parametrize("decimals", [7, 1, 0])  # the fewer decimal places, the more equal scores
@pytest.mark.parametrize("seed", range(2))
def test_the_graph_equals_numpy_on_random_windows(decimals, seed):
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
    scores = generator.normal(size=[2, len(rows), LENGTH]).astype(np.float32).round(decimals)
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


@dataclasses.dataclass(frozen=True)
class Span:
    """Tokens of a context, and their text in it.

    Attributes:
      context: str. Context.
      first: int. Number of the first token.
      last: int. Number of the last token.
      expected: str. Text of the tokens in the context.
    """

    context: str
    first: int
    last: int
    expected: str


@pytest.mark.parametrize(
    "case",
    [
        # Dropped by the tokenizer.
        Span(context="東京大学日本国\u200b", first=2, last=3, expected="大学"),
        Span(context="東京\u200b大学日本国", first=2, last=3, expected="大学"),
        # A word with [UNK] elsewhere.
        Span(context="東京は大学。東京は犬。", first=6, last=7, expected="東京"),
        Span(context="東京 大学 日本国\ufe0f", first=1, last=3, expected="京 大学"),
        # An accent belongs to the token before it.
        Span(context="x (Cafe\u0301s) .", first=2, last=3, expected="Cafe\u0301s"),
        Span(context="x  \u202f fun\n.", first=0, last=2, expected="x fun ."),
    ],
)
def test_the_source_of_a_span(tokenizers, case):
    # Tokens are counted over all contexts.
    pieces = split_contexts(tokenizers[0], tf.constant(["x fun", case.context]))
    of_graph = extract_span_texts(
        pieces,
        tf.constant([1], tf.int64),
        *(tf.constant([2 + token], tf.int64) for token in (case.first, case.last)),
    )
    context_tokens = plain.split(tokenizers[1], case.context)
    assert context_tokens.ids == pieces.ids[1].numpy().tolist()
    found = context_tokens.span_text(case.first, case.last)
    assert found.text == of_graph.texts[0].numpy().decode() == case.expected
    assert (found.start, found.end) == (int(of_graph.starts[0]), int(of_graph.ends[0]))
    assert " ".join(case.context[found.start : found.end].split()) == case.expected


@dataclasses.dataclass(frozen=True)
class Prediction:
    """A prediction, and whether it is correct.

    Attributes:
      kind: str. Kind of the task.
      row: Dict. Line of the predictions.
      expected: Reference answer.
      is_right: bool. Whether the prediction is correct.
    """

    kind: str
    row: dict
    expected: object
    is_right: bool


@pytest.mark.parametrize(
    "case",
    [
        Prediction(kind="classifier", row={"label": "no"}, expected="no", is_right=True),
        Prediction(
            kind="classifier", row={"labels": ["no", "yes"]}, expected=["no"], is_right=False
        ),
        Prediction(
            kind="token_classifier",
            row={"tags": ["O", "B-X"]},
            expected=["O", "B-X"],
            is_right=True,
        ),
        Prediction(kind="multiple_choice", row={"choice": 2}, expected=1, is_right=False),
        Prediction(
            kind="span_labeler",
            row={"answer": "The  dog."},
            expected=("a cat", "Dog"),
            is_right=True,
        ),
        Prediction(kind="span_labeler", row={"answer": ""}, expected=(), is_right=True),
        # Articles are ignored.
        Prediction(kind="span_labeler", row={"answer": ""}, expected=("the",), is_right=True),
        Prediction(kind="span_labeler", row={"answer": "dog"}, expected=(), is_right=False),
    ],
)
def test_correct_predictions(case):
    assert KINDS[case.kind].is_right(case.row, case.expected) == case.is_right


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
