"""The registries of the kinds of tasks."""

import pytest

from bert_tf.tasks import KINDS
from bert_tf.tasks.graphs import GRAPHS
from data_prep.tasks import DATA
from run.tasks import TASKS


def test_every_kind_that_is_trained_is_in_all_registries():
    fine_tuned = [name for name, kind in KINDS.items() if kind.is_fine_tuned]
    assert list(DATA) == list(TASKS) == fine_tuned
    assert set(GRAPHS) == set(KINDS) > set(DATA)


@pytest.mark.parametrize("name", DATA)
def test_each_kind_has_one_name(name):
    data, task = DATA[name], TASKS[name]
    assert (data.Settings.kind, task.kind, task.data_class) == (name, name, data)
    assert (data.__module__, task.__module__) == (f"data_prep.tasks.{name}", f"run.tasks.{name}")
    class_name = name.title().replace("_", "")
    assert (data.__name__, task.__name__) == (f"{class_name}Data", f"{class_name}Task")
