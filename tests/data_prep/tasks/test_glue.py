"""Published layouts, own files, and features equal to the original's."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import glue

REFERENCE = Path(__file__).parents[2] / "reference"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"]


def row(*fields):
    return "\t".join(fields) + "\n"


def write(folder, name, *rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture
def tokenizer(tmp_path):
    return BertTokenizer(str(write(tmp_path, "vocab.txt", *(f"{piece}\n" for piece in PIECES))), lower_case=True)


def test_features_equal_the_original_s(tmp_path):
    shutil.copy(REFERENCE / "pairs.tsv", tmp_path / "train.tsv")
    examples = glue.read_examples(glue.TASKS["mrpc"], str(tmp_path), "train")
    tokenizer = BertTokenizer(str(REFERENCE / "text" / "vocab.txt"), lower_case=True)
    features = glue.convert_examples_to_features(examples, tokenizer, max_seq_length=48)
    with np.load(REFERENCE / "pairs_features.npz") as expected:
        assert set(features) == set(expected)
        for name, values in expected.items():
            assert features[name].dtype == np.int32
            np.testing.assert_array_equal(features[name], values, err_msg=name)


# For each task: a labelled file, its rows, (first texts, second texts, labels, guids) read from it; then header
# and row of its test file, and (first texts, second texts, guids) read from that.
NLI_ROW = ["7", "p", "q", "genre", "bp", "bp", "sp", "sp", "a b", "c d"]
XNLI_ROW = ["bp", "bp", "sp", "sp", "a b", "c d", "9"]
LAYOUTS = {
    "cola": ("train.tsv", [["gj04", "1", "", "a b"], ["gj04", "0", "*", "a c"]],
             (["a b", "a c"], None, [1, 0], ["train-0", "train-1"]),
             ["index", "sentence"], ["5", "d e"], (["d e"], None, ["test-5"])),
    "sst-2": ("dev.tsv", [["sentence", "label"], ['a "b ', "1"]],
              (['a "b '], None, [1], ["dev-1"]),
              ["index", "sentence"], ["3", "d"], (["d"], None, ["test-3"])),
    "mrpc": ("dev.tsv", [["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], ["0", "8", "9", "a", "b"]],
             (["a"], ["b"], [0], ["dev-1"]),
             ["index", "#1 ID", "#2 ID", "#1 String", "#2 String"], ["4", "8", "9", "c", "d"],
             (["c"], ["d"], ["test-4"])),
    "sts-b": ("dev.tsv", [["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1",
                           "sentence2", "score"], ["6", "g", "f", "y", "o", "s", "s", "a", "b", "3.250"]],
              (["a"], ["b"], [3.25], ["dev-6"]),
              ["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2"],
              ["2", "g", "f", "y", "o", "s", "s", "c", "d"], (["c"], ["d"], ["test-2"])),
    "qqp": ("train.tsv", [["id", "qid1", "qid2", "question1", "question2", "is_duplicate"],
                          ["3", "1", "2", "a", "b", "1"]],
            (["a"], ["b"], [1], ["train-3"]),
            ["id", "question1", "question2"], ["8", "c", "d"], (["c"], ["d"], ["test-8"])),
    "mnli": ("dev_matched.tsv", [["header"] * 12, [*NLI_ROW, "neutral", "entailment"]],
             (["a b"], ["c d"], [1], ["dev-7"]),
             ["header"] * 10, NLI_ROW, (["a b"], ["c d"], ["test-7"])),
    "mnli-mm": ("dev_mismatched.tsv", [["header"] * 16, [*NLI_ROW, *["neutral"] * 5, "contradiction"]],
                (["a b"], ["c d"], [0], ["dev-7"]),
                ["header"] * 10, NLI_ROW, (["a b"], ["c d"], ["test-7"])),
    "qnli": ("dev.tsv", [["index", "question", "sentence", "label"], ["2", "a", "b", "not_entailment"]],
             (["a"], ["b"], [1], ["dev-2"]),
             ["index", "question", "sentence"], ["0", "c", "d"], (["c"], ["d"], ["test-0"])),
    "rte": ("train.tsv", [["index", "sentence1", "sentence2", "label"], ["4", "a", "b", "entailment"]],
            (["a"], ["b"], [0], ["train-4"]),
            ["index", "sentence1", "sentence2"], ["1", "c", "d"], (["c"], ["d"], ["test-1"])),
    "wnli": ("train.tsv", [["index", "sentence1", "sentence2", "label"], ["9", "a", "b", "1"]],
             (["a"], ["b"], [1], ["train-9"]),
             ["index", "sentence1", "sentence2"], ["6", "c", "d"], (["c"], ["d"], ["test-6"])),
}
TEST_FILES = {"mnli": "test_matched.tsv", "mnli-mm": "test_mismatched.tsv"}


def test_every_published_task_has_a_layout_below_or_a_test_of_its_own():
    assert set(LAYOUTS) | {"xnli"} == set(glue.TASKS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_published_layouts(tmp_path, name):
    file, rows, (text_a, text_b, labels, guids), test_header, test_row, expected_test = LAYOUTS[name]
    task = glue.find_task(name.upper())
    write(tmp_path, file, *(row(*fields) for fields in rows))
    examples = glue.read_examples(task, str(tmp_path), file.removesuffix(".tsv").split("_")[0])
    assert (examples.text_a, examples.text_b, examples.guids) == (text_a, text_b, guids)
    assert examples.labels.dtype == (np.float32 if task.regression else np.int32)
    assert examples.labels.tolist() == labels

    write(tmp_path, TEST_FILES.get(name, "test.tsv"), row(*test_header), row(*test_row))
    examples = glue.read_examples(task, str(tmp_path), "test")
    assert (examples.text_a, examples.text_b, examples.guids) == expected_test
    assert examples.labels is None


def test_xnli_reads_one_language_and_renames_the_translated_label(tmp_path):
    write(tmp_path, "multinli/multinli.train.zh.tsv", row("premise", "hypo", "label"),
          row("a", "b", "contradictory"), row("c", "d", "neutral"))
    write(tmp_path, "xnli.dev.tsv", row(*["header"] * 9), row("de", "neutral", *XNLI_ROW),
          row("zh", "entailment", *XNLI_ROW))
    task = glue.TASKS["xnli"]
    train = glue.read_examples(task, str(tmp_path), "train")
    assert (train.text_a, train.text_b, train.labels.tolist()) == (["a", "c"], ["b", "d"], [0, 2])
    dev = glue.read_examples(task, str(tmp_path), "dev")
    assert (dev.text_a, dev.labels.tolist(), dev.guids) == (["a b"], [1], ["dev-2"])
    german = glue.read_examples(glue.xnli_task("de"), str(tmp_path), "dev")
    assert german.labels.tolist() == [2]


def test_xnli_is_trained_in_one_language_and_judged_in_another(tmp_path):
    write(tmp_path, "multinli/multinli.train.en.tsv", row("premise", "hypo", "label"), row("a", "b", "entailment"))
    write(tmp_path, "xnli.dev.tsv", row(*["header"] * 9), row("sw", "neutral", *XNLI_ROW),
          row("el", "entailment", *XNLI_ROW))
    write(tmp_path, "xnli.test.tsv", row(*["header"] * 9))
    task = glue.xnli_task("sw", "en")
    assert glue.read_examples(task, str(tmp_path), "train").text_a == ["a"]
    assert glue.read_examples(task, str(tmp_path), "dev").labels.tolist() == [2]
    urdu = glue.xnli_task("ur")
    with pytest.raises(ValueError, match=r"multinli\.train\.ur\.tsv: no such file"):
        glue.read_examples(urdu, str(tmp_path), "train")
    with pytest.raises(InputError, match=r"xnli\.dev\.tsv: has no rows with 'ur' in column 1, which has el, sw$"):
        glue.read_examples(urdu, str(tmp_path), "dev")
    with pytest.raises(InputError, match=r"xnli\.test\.tsv: has no rows with 'ur' in column 1, which has none$"):
        glue.read_examples(urdu, str(tmp_path), "test")


def test_lines_end_at_line_feeds_alone(tmp_path):
    write(tmp_path, "train.tsv", "\ufeffsentence\tlabel\r\n", "a\u2028b\x85c\rd\t1\r\n", "\n", "e\t0")
    examples = glue.read_examples(glue.TASKS["sst-2"], str(tmp_path), "train")
    assert examples.text_a == ["a\u2028b\x85c\rd", "e"]
    assert examples.labels.tolist() == [1, 0]


def test_broken_rows_of_qqp_are_counted(tmp_path):
    write(tmp_path, "train.tsv", row(*["h"] * 6), row("3", "1", "2", "a"), row("4", "1", "2", "a", "", "0"))
    examples = glue.read_examples(glue.TASKS["qqp"], str(tmp_path), "train")
    assert (len(examples), examples.num_broken, examples.num_empty) == (1, 1, 1)


@pytest.mark.parametrize(("task", "rows", "message"), [
    ("mrpc", [row(*["h"] * 5), row("1", "2", "3", "only one text")],
     r"train\.tsv:2: at least 5 columns are expected, 4 found"),
    ("mrpc", [row(*["h"] * 5), row("1", "2", "3", "a", "b"), row("yes", "2", "3", "a", "b")],
     r"train\.tsv:3: label 'yes' is unknown: the labels are 0, 1"),
    ("sts-b", [row(*["h"] * 10), row(*["x"] * 9, "high")], r"train\.tsv:2: label 'high': a number is expected"),
    ("sts-b", [row(*["h"] * 10), row(*["x"] * 9, "nan")], r"train\.tsv:2: label 'nan': a number is expected"),
    ("sts-b", [row(*["h"] * 10), row(*["x"] * 9, "1e39")], r"train\.tsv:2: label '1e39': a number is expected"),
    ("mrpc", [row(*["h"] * 5)], r"train\.tsv: has no rows"),
])
def test_bad_rows_are_named(tmp_path, task, rows, message):
    write(tmp_path, "train.tsv", *rows)
    with pytest.raises(InputError, match=message):
        glue.read_examples(glue.TASKS[task], str(tmp_path), "train")


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"dev\.tsv: no such file"):
        glue.read_examples(glue.TASKS["rte"], str(tmp_path), "dev")
    with pytest.raises(ValueError, match="task rte has no split 'tune': it has train, dev, test"):
        glue.read_examples(glue.TASKS["rte"], str(tmp_path), "tune")
    with pytest.raises(ValueError, match="'mprc' is no known task: the tasks are cola, sst-2, mrpc"):
        glue.find_task("mprc")
    assert glue.find_task("STSB") is glue.TASKS["sts-b"]


def test_bytes_that_are_not_utf8_are_dropped_and_their_lines_counted(tmp_path):
    (tmp_path / "train.tsv").write_bytes(b"\xef\xbb\xbfsentence\tlabel\ncaf\xe9\t1\ntea\t0\n")
    examples = glue.read_examples(glue.TASKS["sst-2"], str(tmp_path), "train")
    assert (examples.text_a, examples.labels.tolist(), examples.num_garbled) == (["caf", "tea"], [1, 0], 1)


def test_a_label_that_training_lacks(tmp_path):
    """It counts as wrong where that is allowed and others are known; an empty one never is."""
    write(tmp_path, "train.tsv", "text\tlabel\n", "a\tx\n", "b\ty\n")
    write(tmp_path, "dev.tsv", "text\tlabel\n", "a\ty\n", "b\tz\n")
    task = glue.own_task(str(tmp_path), "text")
    dev = glue.read_examples(task, str(tmp_path), "dev", allow_unknown=True)
    assert (dev.labels.tolist(), dev.num_unknown) == ([1, glue.UNKNOWN], 1)
    for rows, allow, message in ((("a\ty\n", "b\tz\n"), False, "dev.tsv:3: label 'z' is unknown: the labels are x, y"),
                                 (("a\ty\n", "b\t \n"), True, "dev.tsv:3: label ' ' is unknown"),
                                 (("a\tz\n",), True, "dev.tsv: has none of the labels x, y: is another column meant")):
        write(tmp_path, "dev.tsv", "text\tlabel\n", *rows)
        with pytest.raises(InputError, match=message):
            glue.read_examples(task, str(tmp_path), "dev", allow_unknown=allow)


def test_own_csv_with_named_columns_and_labels_of_the_training_file(tmp_path):
    write(tmp_path, "my.csv", "id,stars,title,body\n", '1,10,"a, b","c\n""d"""\n', "2,9,b,e\n")
    write(tmp_path, "test.csv", "id,title,body\n", "5,a,f\n")
    task = glue.own_task(str(tmp_path), "title", "body", "stars",
                                   {"train": "my.csv", "test": "test.csv"})
    assert (task.labels, task.num_outputs, task.metrics) == (("9", "10"), 2, ("accuracy", "macro_f1"))
    train = glue.read_examples(task, str(tmp_path), "train")
    assert (train.text_a, train.text_b) == (["a, b", "b"], ['c\n"d"', "e"])
    assert train.labels.tolist() == [1, 0]
    test = glue.read_examples(task, str(tmp_path), "test")
    assert (test.text_a, test.text_b, test.labels) == (["a"], ["f"], None)


def test_labels_longer_than_any_number_are_sorted_as_text(tmp_path):
    long = "1" * 5000
    write(tmp_path, "train.csv", "text,label\n", f"a,{long}\n", "b,9\n", "c,10\n")
    assert glue.own_task(str(tmp_path), "text").labels == ("10", long, "9")


def test_own_csv_files_are_found_by_their_usual_names(tmp_path):
    write(tmp_path, "train.csv", "text,label\n", '"a, b",x\n', "b,y\n")
    write(tmp_path, "dev.csv", "text,label\n", "c,y\n")
    write(tmp_path, "dev.tsv", row("text", "label"), row("d", "x"))
    task = glue.own_task(str(tmp_path), "text")
    assert {split: layout.file for split, layout in task.splits.items()} == {
        "train": "train.csv", "dev": "dev.tsv", "test": "test.tsv"}
    assert glue.read_examples(task, str(tmp_path), "train").text_a == ["a, b", "b"]


def test_own_task_of_several_labels(tmp_path):
    write(tmp_path, "train.tsv", row("text", "tags"), row("a", "x|z"), row("b", ""), row("c", "y | x"))
    task = glue.own_task(str(tmp_path), "text", label="tags", label_separator="|")
    assert task.labels == ("x", "y", "z")
    labels = glue.read_examples(task, str(tmp_path), "train").labels
    assert labels.tolist() == [[1, 0, 1], [0, 0, 0], [1, 1, 0]]


def test_own_regression(tmp_path):
    write(tmp_path, "train.tsv", row("text", "price"), row("a", "-1.5e2"))
    task = glue.own_task(str(tmp_path), "text", label="price", regression=True)
    assert (task.num_outputs, task.metrics) == (1, ("pearson", "spearman"))
    assert glue.read_examples(task, str(tmp_path), "train").labels.tolist() == [-150.0]


def test_own_task_names_what_is_wrong(tmp_path):
    write(tmp_path, "train.tsv", row("text", "label"), row("a", "1"), row("a", "tab", "1"))
    with pytest.raises(ValueError, match=r"train\.tsv:1: there is no column 'txt': the columns are text, label"):
        glue.own_task(str(tmp_path), "txt")
    with pytest.raises(ValueError, match=r"train\.tsv:3: 2 columns are expected, 3 found"):
        glue.own_task(str(tmp_path), "text")


def test_a_task_needs_labels_or_a_number():
    with pytest.raises(ValueError, match="task t: it needs either labels or regression=True"):
        glue.Dataset("t", {})
    with pytest.raises(ValueError, match="task t: a label occurs twice in u, u"):
        glue.Dataset("t", {}, ("u", "u"))


def test_features_of_pairs_by_hand(tokenizer):
    """The longer text loses pieces first, of equals the second; an empty second text leaves no [SEP] of its own."""
    examples = glue.Examples(["x-1", "x-2", "x-3", "x-4"], ["a b c d", "a b c d", "a b", ""],
                                       ["e f", "e f a b", "\u200b", "c"], np.array([1, 0, 1, 0], np.int32))
    features = glue.convert_examples_to_features(examples, tokenizer, max_seq_length=8)
    cls, sep, a, b, c, e, f = (PIECES.index(piece) for piece in ["[CLS]", "[SEP]", *"abcef"])
    assert features["input_ids"].tolist() == [[cls, a, b, c, sep, e, f, sep], [cls, a, b, c, sep, e, f, sep],
                                              [cls, a, b, sep, 0, 0, 0, 0], [cls, sep, c, sep, 0, 0, 0, 0]]
    assert features["input_mask"].tolist() == [[1] * 8, [1] * 8, [1] * 4 + [0] * 4, [1] * 4 + [0] * 4]
    assert features["segment_ids"].tolist() == [[0] * 5 + [1] * 3, [0] * 5 + [1] * 3, [0] * 8,
                                                [0, 0, 1, 1, 0, 0, 0, 0]]
    assert features["label_ids"].tolist() == [1, 0, 1, 0]
    assert {values.dtype for values in features.values()} == {np.dtype(np.int32)}


def test_features_of_single_texts_over_several_batches(tokenizer, monkeypatch):
    monkeypatch.setattr(glue, "ROWS_AT_A_TIME", 3)
    examples = glue.Examples([f"x-{n}" for n in range(7)], list("abcdefa"), None, None)
    features = glue.convert_examples_to_features(examples, tokenizer, max_seq_length=5)
    assert set(features) == {"input_ids", "input_mask", "segment_ids"}
    assert features["input_ids"][:, 1].tolist() == [PIECES.index(text) for text in "abcdefa"]
    assert features["input_mask"].sum(1).tolist() == [3] * 7


@pytest.mark.parametrize(("text_b", "length", "shortest"), [(None, 2, 3), (["b"], 4, 5)])
def test_a_length_without_room_is_refused(tokenizer, text_b, length, shortest):
    examples = glue.Examples(["x-1"], ["a"], text_b, None)
    with pytest.raises(ValueError, match=f"`max_seq_length`={length}: .* at least {shortest}"):
        glue.convert_examples_to_features(examples, tokenizer, length)


def test_pieces_cut_are_counted(tokenizer):
    examples = glue.Examples(["a-1", "a-2"], ["a b c d e", "f"], ["b a e d", "c"], None)
    assert glue.count_cut(examples, tokenizer, 8) == glue.Cut(1, 4, 11)
    one_text = dataclasses.replace(examples, text_b=None)
    assert glue.count_cut(one_text, tokenizer, 6) == glue.Cut(1, 1, 6)
    assert glue.count_cut(one_text, tokenizer, 7).num_examples == 0


def test_an_empty_label_is_no_label(tmp_path):
    write(tmp_path, "train.tsv", row("text", "label"), row("a", "1"), row("b", " "))
    with pytest.raises(ValueError, match=r"train\.tsv:3: the label is empty"):
        glue.own_task(str(tmp_path), "text")
