"""Data of a classifier for a model that exists."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks.classifier import ClassifierData, ClassifierSettings


@pytest.mark.parametrize(
    ("model_labels", "message"),
    [
        (("LABEL_0", "LABEL_1"), "the model has 2 labels, but the data has 3"),
        (
            tuple(f"LABEL_{number}" for number in range(4)),
            "the model has 4 labels, but the data has 3",
        ),
        (("LABEL_0", "LABEL_1", "LABEL_2"), None),
    ],
)
def test_number_of_labels_of_an_unnamed_model(tmp_path, write, model_labels, message):
    write("train.tsv", "text\tlabel\nx\tb\ny\ta\nz\tc\n")
    settings = ClassifierSettings(task_name="custom", data_dir=str(tmp_path))
    model = TaskMetadata("classifier", None, None, model_labels)
    if message:
        with pytest.raises(
            InputError, match=f"^`data_dir`=.*: {message}; use the data of the task"
        ):
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
    assert capsys.readouterr().err.splitlines()[-3:] == [
        "train: 2 rows; 1 rows have too few columns and are skipped",
        "train: 2 rows; 1 rows have an empty text",
        "train: 2 rows; 1 line contains bytes that are not UTF-8, which are ignored",
    ]
