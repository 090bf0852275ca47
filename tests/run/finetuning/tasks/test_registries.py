"""All kinds of tasks: their registries, and the order in which they read data."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks import KINDS, SERVABLES, UNTRAINED_KINDS
from bert_tf.tasks.masked_lm.graph import ServedMaskedLM
from data_prep.tasks import DATA
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks import TASKS
from run.inference import served_models as serving_settings
from run.training.padding import Padding


def test_registries_have_the_same_kinds():
    assert list(DATA) == list(TASKS) == [name for name, kind in KINDS.items() if kind.is_fine_tuned]
    assert set(serving_settings.KINDS) == {*UNTRAINED_KINDS, *TASKS} == set(KINDS) == set(SERVABLES)
    for name, data in DATA.items():
        assert (data.settings_class.kind, TASKS[name].kind, TASKS[name].data_class) == (
            name,
            name,
            data,
        )
        assert SERVABLES[name].kind == name
    assert SERVABLES["masked_lm"] is ServedMaskedLM


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("classifier", {"task_name": "custom", "data_dir": "."}),
        ("token_classifier", {"train_file": "train.txt", "dev_file": "dev.txt"}),
        ("multiple_choice", {"train_file": "train.csv", "dev_file": "dev.csv"}),
    ],
)
def test_all_files_are_read_before_texts_are_tokenized(name, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, text in {
        "train.tsv": "text\tlabel\na\tx\nb\ty\n",
        "train.txt": "a X\nb Y\n",
        "train.csv": "sent1,sent2,ending0,ending1,label\na,b,c,d,0\n",
        "dev.tsv": "text\tlabel\na\tz\n",
        "dev.txt": "a X Y\nb\n",
        "dev.csv": "sent1\n",
    }.items():
        (tmp_path / path).write_text(text)
    task = TASKS[name].open(
        FineTuningSettings(
            do_train=True,
            do_eval=True,
            task_settings=DATA[name].settings_class(**settings),
        ),
        None,
    )
    with pytest.raises(InputError, match=r"^(\./)?dev\."):
        task.read(None, Padding.STATIC)
