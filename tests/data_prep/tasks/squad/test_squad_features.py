"""SQuAD files, and the division of contexts into windows; features match the original BERT."""

import collections
import dataclasses
import gzip
import json

import numpy as np
import pytest
import tensorflow as tf

from data_prep import records
from data_prep.tasks import squad
from data_prep.tasks.squad import features as squad_features
from tests.conftest import REFERENCE
from tests.errors import Message, raises_message, rejects

# The values of max_seq_length, doc_stride, and max_query_length for each reference file.
LENGTHS = {"squad_v1": (192, 64, 64), "squad_v2": (128, 48, 64)}


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer("a", "b", "c", "d", "##e", "(", ")", ".", "1895", "-", "1943")


def question(id_, text="a b?", **fields):
    return {"id": id_, "question": text, **fields}


def answered(id_, text, start, **fields):
    return question(id_, answers=[{"text": text, "answer_start": start}], **fields)


def paragraph(context, *questions):
    """The content of a file with one context."""
    return {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}


def example(context, text="b", **fields):
    return squad.Example("id", text, context, **fields)


def make_features(
    examples, tokenizer, max_seq_length=11, doc_stride=2, max_query_length=3, is_training=False
):
    return list(
        squad.convert_examples_to_features(
            examples,
            tokenizer,
            max_seq_length,
            doc_stride,
            max_query_length,
            is_training=is_training,
        )
    )


@pytest.mark.parametrize("split", ["train", "eval"])
@pytest.mark.parametrize("version", LENGTHS)
def test_features_match_the_original_bert(version, split, tmp_path, reference_tokenizer):
    is_training = split == "train"
    examples = squad.read_examples(
        REFERENCE / version / "input.json", is_training, version == "squad_v2"
    )
    features = make_features(examples, reference_tokenizer, *LENGTHS[version], is_training)
    with np.load(REFERENCE / version / f"features_{split}.npz") as expected:
        arrays = squad.create_arrays(features)
        for name in ("example_index", "doc_span_index"):
            np.testing.assert_array_equal(
                [getattr(feature, name) for feature in features], expected[name]
            )
        assert set(arrays) == set(expected) - {"example_index", "doc_span_index"}
        for name, values in arrays.items():
            np.testing.assert_array_equal(values.squeeze(), expected[name], err_msg=name)

    path = str(tmp_path / "windows.tf_record")
    assert squad.write_window_records(
        path, iter(features), LENGTHS[version][0], is_training
    ) == len(features)
    serialized = next(iter(tf.data.TFRecordDataset(path).batch(1000)))
    parsed = records.parse(serialized, squad.record_features(LENGTHS[version][0], is_training))
    assert set(parsed) == set(arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(parsed[name], values, err_msg=name)


def test_windows_by_hand(tokenizer):
    # The context is a b ##e c [UNK] d a. With [CLS] b [SEP] [SEP], five of these tokens fit into
    # nine.
    first, second = make_features(
        [example(" a be\tc\u202fx\r\nd a ")], tokenizer, max_seq_length=9, doc_stride=3
    )
    assert [feature.unique_id for feature in (first, second)] == [1000000000, 1000000001]
    assert [(feature.example_index, feature.doc_span_index) for feature in (first, second)] == [
        (0, 0),
        (0, 1),
    ]
    assert first.tokens == ["[CLS]", "b", "[SEP]", "a", "b", "##e", "c", "[UNK]", "[SEP]"]
    assert second.tokens == ["[CLS]", "b", "[SEP]", "c", "[UNK]", "d", "a", "[SEP]"]
    assert first.token_to_orig_map == {3: 0, 4: 1, 5: 1, 6: 2, 7: 3}
    assert second.token_to_orig_map == {3: 2, 4: 3, 5: 4, 6: 5}
    # c: 1 left in the first window, 0 in the second; [UNK]: 0 right in the first, 1 in the second.
    assert first.token_is_max_context == {3: True, 4: True, 5: True, 6: True, 7: False}
    assert second.token_is_max_context == {3: False, 4: True, 5: True, 6: True}
    np.testing.assert_array_equal(second.input_ids, [2, 6, 3, 7, 1, 8, 5, 3, 0])
    np.testing.assert_array_equal(second.input_mask, [1, 1, 1, 1, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(second.segment_ids, [0, 0, 0, 1, 1, 1, 1, 1, 0])
    assert (first.start_position, first.end_position) == (None, None)


@dataclasses.dataclass(frozen=True)
class TrainingAnswer:
    """An answer, and the tokens that training uses.

    Attributes:
      context: str. Context of the question.
      text: str. Text of the answer.
      start: int. Offset of the answer in the context.
      expected: List of str. Tokens of the answer, or None if it is not found.
    """

    context: str
    text: str
    start: int
    expected: list | None


@pytest.mark.parametrize(
    "case",
    [
        # Only the tokens of the answer.
        TrainingAnswer(context="a (1895-1943). b", text="1895", start=3, expected=["1895"]),
        TrainingAnswer(
            context="a (1895-1943). b", text="1895-1943", start=3, expected=["1895", "-", "1943"]
        ),
        # Not a token: the complete word.
        TrainingAnswer(context="a be c", text="e", start=3, expected=["b", "##e"]),
        # White space does not count.
        TrainingAnswer(context="a b\tc", text="b  c", start=2, expected=["b", "c"]),
        TrainingAnswer(context="a b\tc", text="b c\u00a0a", start=2, expected=None),
        TrainingAnswer(context="a b c", text="c", start=2, expected=None),  # at another position
        TrainingAnswer(context="a b c", text="", start=2, expected=None),
        # Ends after the context.
        TrainingAnswer(context="a b c", text="c a", start=4, expected=None),
        TrainingAnswer(context="a b c", text="b", start=-3, expected=None),
    ],
)
def test_answers_in_training(tokenizer, write, case):
    whole = f"{case.context} d"
    path = write(
        "squad.json",
        paragraph(whole, answered("1", case.text, case.start), answered("1", "d", len(whole) - 1)),
    )
    counts = collections.Counter()
    examples = squad.read_examples(path, True, False, counts)
    assert counts["not_found"] == (case.expected is None)
    if case.expected:
        feature, _ = make_features(examples, tokenizer, max_seq_length=40, is_training=True)
        assert feature.tokens[feature.start_position : feature.end_position + 1] == case.expected


def test_positions_of_missing_answers(tokenizer, write):
    path = write(
        "squad.json",
        paragraph(
            "a b c d a b c",
            answered("1", "d a", 6, is_impossible=False),
            question("2", answers=[], is_impossible=True),
        ),
    )
    examples = squad.read_examples(path, True, True)
    features = make_features(examples, tokenizer, max_seq_length=10, doc_stride=3, is_training=True)
    # [CLS] a b [UNK] [SEP], then windows of four tokens: a b c d, and d a b c.
    assert [
        (feature.example_index, feature.start_position, feature.end_position)
        for feature in features
    ] == [(0, 0, 0), (0, 5, 6), (1, 0, 0), (1, 0, 0)]
    assert [feature.is_impossible for feature in features] == [False, False, True, True]


def test_counts(tokenizer, write):
    counts = collections.Counter()
    examples = squad.read_examples(
        write("squad.json", paragraph(" \n", question(1), question("2", "a b c d"))),
        False,
        False,
        counts,
    )
    assert (len(examples), counts["empty"], counts["not_found"]) == (2, 2, 0)
    assert (examples[0].qas_id, examples[0].answers) == ("1", None)
    features = squad.convert_examples_to_features(
        [*examples, example("a b", ""), example("a b", "a b c d")],
        tokenizer,
        11,
        2,
        3,
        is_training=False,
        counts=counts,
    )
    assert [feature.tokens for feature in features] == [
        ["[CLS]", "[SEP]", "a", "b", "[SEP]"],
        ["[CLS]", "a", "b", "c", "[SEP]", "a", "b", "[SEP]"],
    ]
    assert (counts["windows"], counts["long_questions"]) == (2, 2)


def test_features_are_created_on_demand(tokenizer):
    """The second batch, whose only example is invalid, is not read with the first one."""
    examples = [example("a b c")] * squad_features.EXAMPLES_AT_A_TIME + [None]
    stream = squad.convert_examples_to_features(examples, tokenizer, 11, 2, 3, is_training=False)
    assert [next(stream).example_index for _ in examples[:-1]] == list(range(len(examples) - 1))
    with pytest.raises(AttributeError):
        next(stream)


def test_half_a_surrogate_pair_is_an_unknown_word(tokenizer, write):
    path = write("squad.json", paragraph("a b\ud800 c", question("1", "\udfff")))
    (feature,) = make_features(squad.read_examples(path, False, False), tokenizer)
    assert feature.tokens == ["[CLS]", "[UNK]", "[SEP]", "a", "[UNK]", "c", "[SEP]"]


@pytest.mark.parametrize(
    ("content", "flags", "message"),
    [
        ("{", (False, False), Message("squad.json", "is not JSON", "Expecting property name")),
        ([], (False, False), Message("squad.json", "requires 'data', a list", "SQuAD files")),
        (
            {"data": [{"paragraphs": 3}]},
            (False, False),
            Message("squad.json", "data[0]", "requires 'paragraphs', a list"),
        ),
        ({"data": []}, (False, False), Message("squad.json", "contains no questions")),
        (
            [{"question": "a"}],
            (False, False),
            Message("squad.json", "data[0].paragraphs[0].qas[0]", "requires 'id', a string"),
        ),
        (
            [{"id": "1", "question": None}],
            (False, False),
            Message("squad.json", "qas[0]", "requires 'question', a string"),
        ),
        (
            [question("1"), 5],
            (False, False),
            Message("squad.json", "qas[1]", "must be an object", "keys id and question"),
        ),
        (
            [question("1"), question("1")],
            (False, False),
            Message("squad.json", "two questions have the ID '1'", "IDs must be unique"),
        ),
        (
            [question("1", answers=[{}])],
            (False, False),
            Message("squad.json", "qas[0].answers[0]", "requires 'text', a string"),
        ),
        (
            [question("1", answers=[{"text": "a"}])],
            (True, False),
            Message("squad.json", "answers[0]", "requires 'answer_start', an integer"),
        ),
        (
            [answered("1", "a", 0), question("2", answers=[])],
            (True, False),
            Message(
                "squad.json",
                "qas[1]",
                "has 0 answers",
                "training requires exactly 1 per",
                "`version_2_with_negative`",
            ),
        ),
        (
            [question("1", answers=[{"text": "a"}, {"text": "b"}])],
            (True, False),
            Message("squad.json", "qas[0]", "has 2 answers", end="requires exactly 1 per question"),
        ),
        (
            [answered("1", "a", 0)],
            (True, True),
            Message("squad.json", "has no 'is_impossible'", "not in SQuAD 2.0 format"),
        ),
        (
            [answered("1", "c", 0)],
            (True, False),
            Message("squad.json", "none of its 1 answers", "at its answer_start"),
        ),
    ],
)
def test_invalid_files(write, content, flags, message):
    path = write(
        "squad.json",
        paragraph("a b", *content) if content and isinstance(content, list) else content,
    )
    with raises_message(message):
        squad.read_examples(path, *flags)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (
            (12, 4, 9),
            Message(
                "max_seq_length",
                "must be greater than",
                "`max_query_length` + 3",
                "which is 12",
                value=12,
            ),
        ),
        ((13, 0, 9), Message("doc_stride", "must be at least 1", value=0)),
    ],
)
def test_invalid_lengths(lengths, message):
    with raises_message(message):
        squad.check_lengths(*lengths)
    squad.check_lengths(13, 1, 9)


def test_a_row_per_question(write):
    """As `datasets` and pandas write it, in any format of records, with several answers in dev."""
    path = REFERENCE / "tables" / "squad_datasets.jsonl"
    examples = squad.read_examples(str(path), False, False)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [example.qas_id for example in examples] == [row["id"] for row in rows]
    assert examples[0].answers == tuple(rows[0]["answers"]["text"])
    lines = [
        {
            "id": "1",
            "context": "a b c",
            "question": "q",
            "answers": {"text": ["b c"], "answer_start": [2]},
        },
        {
            "id": "2",
            "context": "a b c",
            "question": "r",
            "answers": {"text": [], "answer_start": []},
        },
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    for name, stored in (
        ("rows.json", content.encode()),
        ("rows.json.gz", gzip.compress(content.encode())),
        ("array.json", json.dumps(lines).encode()),
    ):
        first, second = squad.read_examples(write(name, stored), True, True)
        assert (first.orig_answer_text, first.start_position, first.end_position) == ("b c", 1, 2)
        assert second.is_impossible
    path = write("rows.json", json.dumps({**lines[0], "answers": ["b c"]}))
    with rejects("rows.json:1", "answers is ['b c']", "must be an object of lists"):
        squad.read_examples(path, True, False)


def test_a_compressed_file(write):
    stored = (REFERENCE / "squad_v1" / "input.json").read_bytes()
    expected = squad.read_examples(write("a.json", stored), True, False)
    assert squad.read_examples(write("a.json.gz", gzip.compress(stored)), True, False) == expected
