"""What task.json says, and when the run of another task is in a folder."""

import pytest

from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.model_folder.task_metadata import TaskMetadata
from run.finetuning.job import check_metadata


@pytest.mark.parametrize("lower_case", [True, False])
def test_accents_that_repeat_the_casing_are_what_is_not_said(tmp_path, lower_case):
    said = TaskMetadata("classifier", 7, lower_case, ("a", "b"), strip_accents=lower_case)
    not_said = TaskMetadata("classifier", 7, lower_case, ("a", "b"))
    assert said == not_said
    task_metadata.keep(tmp_path, said)
    (tmp_path / "checkpoint").touch()
    check_metadata(str(tmp_path), not_said)
    other = TaskMetadata("classifier", 7, lower_case, ("a", "b"), strip_accents=not lower_case)
    assert other.strip_accents is not lower_case
    with pytest.raises(InputError, match="holds the run of another task, with strip_accents None, not"):
        check_metadata(str(tmp_path), other)


def test_a_file_of_before_is_read_as_one_of_now(tmp_path):
    (tmp_path / "task.json").write_text(
        '{"kind": "classifier", "max_seq_length": 7, "do_lower_case": true, "strip_accents": true}')
    assert task_metadata.read(str(tmp_path)) == TaskMetadata("classifier", 7, True)
