"""Data of a classifier for a model that exists."""

import pytest

from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks.classifier import ClassifierData, ClassifierSettings
from tests.errors import check_message, rejects


@pytest.mark.parametrize(
    ("model_labels", "parts"),
    [
        (("LABEL_0", "LABEL_1"), ("model has 2 labels", "data has 3")),
        (
            tuple(f"LABEL_{number}" for number in range(4)),
            ("model has 4 labels", "data has 3"),
        ),
        (("LABEL_0", "LABEL_1", "LABEL_2"), ()),
    ],
)
def test_number_of_labels_of_an_unnamed_model(tmp_path, write, model_labels, parts):
    write("train.tsv", "text\tlabel\nx\tb\ny\ta\nz\tc\n")
    settings = ClassifierSettings(task_name="custom", data_dir=str(tmp_path))
    model = TaskMetadata("classifier", None, None, model_labels)
    if parts:
        with rejects("data_dir", *parts, "use the data of the task"):
            ClassifierData(settings, 7, model)
    else:
        assert ClassifierData(settings, 7, model).dataset.labels == ("a", "b", "c")


def test_the_format_of_sick_depends_on_the_files(tmp_path, write):
    """See test_glue for SICK.txt. The names of SemEval are train, trial, and test_annotated."""
    for part, number in (("train", "1.5"), ("trial", "2.5"), ("test_annotated", "3.5")):
        write(
            f"SICK_{part}.txt",
            "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
            f"3\ta {number}\tb\t{number}\tNEUTRAL\n",
        )
    data = ClassifierData(ClassifierSettings(task_name="SICK-R", data_dir=str(tmp_path)), 7)
    assert [data.examples(split).labels.tolist() for split in ("train", "dev")] == [[1.5], [2.5]]
    assert (data.dataset.name, data.examples("test").text_a) == ("sick_r", ["a 3.5"])
    assert data.metadata_fields == {"labels": (), "pairs": True, "multi_label": False}
    data = ClassifierData(ClassifierSettings(task_name="sick_e", data_dir=str(tmp_path)), 7)
    assert data.examples("dev").labels.tolist() == [2]


def test_notes_on_rows(tmp_path, write, make_tokenizer, capsys):
    rows = (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "3\t1\t2\ta\n4\t1\t2\ta\tb\t0\n5\t1\t2\t\tb\xff\t1"
    )
    write("train.tsv", rows.encode("latin-1"))
    ClassifierData(ClassifierSettings(task_name="qqp", data_dir=str(tmp_path)), 7).read(
        "train", make_tokenizer("a", "b")
    )
    short, empty, encoding = capsys.readouterr().err.splitlines()[-3:]
    check_message(short, "train", "2 rows", "1 rows have too few columns", "are skipped")
    check_message(empty, "train", "2 rows", "1 rows have an empty text")
    check_message(encoding, "train", "2 rows", "1 line", "not UTF-8", "ignored")
