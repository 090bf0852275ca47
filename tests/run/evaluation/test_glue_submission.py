import numpy as np
import pytest

from data_prep.tasks.glue import TASKS
from run.evaluation import glue_submission


def test_labels_by_name_beside_the_published_index(tmp_path):
    path = glue_submission.write(tmp_path, TASKS["qnli"], ["test-0", "test-1", "test-7"], np.array([1, 0, 1]))
    assert path.endswith("QNLI.tsv")
    with open(path, encoding="utf-8") as file:
        assert file.read() == "index\tprediction\n0\tnot_entailment\n1\tentailment\n7\tnot_entailment\n"


def test_diagnostic_data_have_the_labels_of_mnli(tmp_path):
    path = glue_submission.write(tmp_path, TASKS["ax"], ["test-0", "test-1", "test-2"], np.array([2, 0, 1]))
    assert path.endswith("/AX.tsv")
    with open(path, encoding="utf-8") as file:
        assert file.read() == "index\tprediction\n0\tneutral\n1\tcontradiction\n2\tentailment\n"


def test_similarities_stay_in_their_range(tmp_path):
    path = glue_submission.write(tmp_path, TASKS["sts-b"], ["test-0", "test-1", "test-2"],
                                 np.array([5.25, -0.5, 2.34567], np.float32))
    with open(path, encoding="utf-8") as file:
        assert file.read().splitlines()[1:] == ["0\t5.000", "1\t0.000", "2\t2.346"]


def test_every_task_of_glue_has_a_file():
    assert set(glue_submission.FILES) == set(TASKS) - {"xnli", "sick_e", "sick_r"}
    with pytest.raises(ValueError, match=r"`glue_submission`: xnli is not a GLUE task; must be one of cola, "):
        glue_submission.check_task("xnli")
