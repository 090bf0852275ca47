"""Published sentences and sentence pairs: GLUE and its diagnostic data, XNLI, and SICK.

`DATASETS` describes the columns of the texts and labels in each published dataset.
"""

import os
import re

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import GENERIC_LABEL
from data_prep.datasets.types import CUSTOM, Dataset, Split

SICK_FILE = "SICK.txt"
SICK_PARTS = {
    "TRAIN": "SICK_train.txt",
    "TRIAL": "SICK_trial.txt",
    "TEST": "SICK_test_annotated.txt",
}
NLI_LABELS = ("contradiction", "entailment", "neutral")
_TWO_WAY = ("entailment", "not_entailment")
_PAIR = {"text_a": 1, "text_b": 2, "index": 0}
_LABELED_PAIR = {**_PAIR, "label": 3}
_MRPC_PAIR = {"text_a": 3, "text_b": 4}
_STSB_PAIR = {"text_a": 7, "text_b": 8, "index": 0}

# Label names in Hugging Face's datasets for labels that are 0 and 1 in the published files.
HUB_NAMES = {
    "cola": {"unacceptable": "0", "acceptable": "1"},
    "sst-2": {"negative": "0", "positive": "1"},
    "mrpc": {"not_equivalent": "0", "equivalent": "1"},
    "qqp": {"not_duplicate": "0", "duplicate": "1"},
    "wnli": {"not_entailment": "0", "entailment": "1"},
}


def find_dataset(name):
    """Returns the published dataset of that name, ignoring case, hyphens, and underscores.

    Raises:
      InputError: If there is none. The message lists all names.
    """

    def simplify(text):
        return text.lower().replace("-", "").replace("_", "")

    for known, dataset in DATASETS.items():
        if simplify(name) == simplify(known):
            return dataset
    raise InputError(f"must be one of {', '.join(DATASETS)}, or {CUSTOM}", "task_name", name)


def order_labels(name, labels, model_labels):
    """Returns the labels of a published dataset in the order of a model's outputs.

    Models on Hugging Face's hub have the label names of its datasets, or no names, in any order.

    Args:
      name: str. Name of the published dataset.
      labels: Tuple of str. Labels of the dataset.
      model_labels: Tuple of str. Labels of the model.

    Returns:
      Tuple of str. `labels` in the order of the model, or unchanged if the model's labels have no
      names.

    Raises:
      InputError: If the model has other labels, or another number of them.
    """
    if len(model_labels) == len(labels):
        if all(map(GENERIC_LABEL.fullmatch, model_labels)):
            return labels
        known = {_normalize(hub_name): label for hub_name, label in HUB_NAMES.get(name, {}).items()}
        known |= {_normalize(label): label for label in labels}
        in_order = tuple(known.get(_normalize(label)) for label in model_labels)
        if {*in_order} == {*labels}:
            return in_order
    predicted = ", ".join(model_labels) or "a number"
    required = ", ".join(labels) or "a number"
    raise InputError(
        f"the model was trained for another task; it predicts {predicted}, but the task requires "
        f"{required}",
        "task_name",
        name,
    )


def _normalize(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _create_glue(name, labels, train, test, *, dev_file="dev.tsv", test_file="test.tsv", **fields):
    """Creates a dataset whose development file has the columns of its training file.

    Args:
      name, labels: See `Dataset`.
      train, test: Dicts of the columns of these files, which are fields of `Split`.
      dev_file, test_file: str. Names of the files.
      **fields: Further fields of `Dataset`.
    """
    return Dataset(
        name,
        {
            "train": Split("train.tsv", **train),
            "dev": Split(dev_file, **train),
            "test": Split(test_file, **test),
        },
        labels,
        **fields,
    )


def _create_mnli(name, version):
    texts = {"text_a": 8, "text_b": 9, "index": 0}
    return _create_glue(
        name,
        NLI_LABELS,
        {**texts, "label": -1},
        texts,
        dev_file=f"dev_{version}.tsv",
        test_file=f"test_{version}.tsv",
    )


def create_xnli(language="zh"):
    """Creates XNLI in one language, trained on translated MultiNLI.

    The original BERT reads the Chinese part.
    """
    texts = {"text_a": 6, "text_b": 7, "label": 1, "only": (0, language)}
    return Dataset(
        "xnli",
        {
            "train": Split(f"multinli/multinli.train.{language}.tsv", text_a=0, text_b=1, label=2),
            "dev": Split("xnli.dev.tsv", **texts),
            "test": Split("xnli.test.tsv", **texts),
        },
        NLI_LABELS,
        renamed_labels=(("contradictory", "contradiction"),),
    )


def create_sick(name, data_dir=None):
    """Creates a dataset of SICK (Marelli et al. 2014), from SICK.txt or the files of SemEval 2014.

    Args:
      name: str. "sick_e" for entailment, "sick_r" for relatedness, a number from 1 to 5.
      data_dir: Directory of the files, which determines the format. None for SICK.txt.
    """

    def exists(file):
        return files.at(os.path.join(data_dir, file)).is_file()

    labels = NLI_LABELS if name == "sick_e" else ()
    is_one_file = data_dir is None or exists(SICK_FILE) or not any(map(exists, SICK_PARTS.values()))
    if not labels:
        label = "relatedness_score"
    elif is_one_file:
        label = "entailment_label"
    else:
        label = "entailment_judgment"
    splits = [
        Split(SICK_FILE, 1, 2, label, 0, only=(11, part))
        if is_one_file
        else Split(file, 1, 2, label, 0)
        for part, file in SICK_PARTS.items()
    ]
    return Dataset(
        name,
        dict(zip(("train", "dev", "test"), splits, strict=True)),
        labels,
        regression=not labels,
        # The order of SemEval's ranking.
        metrics=("accuracy",) if labels else ("pearson", "spearman"),
        renamed_labels=tuple((label.upper(), label) for label in labels),
    )


DATASETS = {
    dataset.name: dataset
    for dataset in (
        _create_glue(
            "cola",
            ("0", "1"),
            {"text_a": 3, "label": 1, "header": False},
            {"text_a": 1, "index": 0},
            metrics=("matthews_corrcoef", "accuracy"),
        ),
        _create_glue("sst-2", ("0", "1"), {"text_a": 0, "label": 1}, {"text_a": 1, "index": 0}),
        _create_glue(
            "mrpc",
            ("0", "1"),
            {**_MRPC_PAIR, "label": 0},
            {**_MRPC_PAIR, "index": 0},
            metrics=("f1", "accuracy"),
        ),
        _create_glue(
            "sts-b",
            (),
            {**_STSB_PAIR, "label": 9},
            _STSB_PAIR,
            regression=True,
            metrics=("spearman", "pearson"),  # Table 1 of the paper reports Spearman.
        ),
        # A line break inside a question splits some rows of the published training file.
        _create_glue(
            "qqp",
            ("0", "1"),
            {"text_a": 3, "text_b": 4, "label": 5, "index": 0},
            _PAIR,
            metrics=("f1", "accuracy"),
            skip_broken_rows=True,
        ),
        _create_mnli("mnli", "matched"),
        _create_mnli("mnli-mm", "mismatched"),
        # A model of MNLI predicts it.
        Dataset("ax", {"test": Split("diagnostic.tsv", **_PAIR)}, NLI_LABELS),
        _create_glue("qnli", _TWO_WAY, _LABELED_PAIR, _PAIR),
        _create_glue("rte", _TWO_WAY, _LABELED_PAIR, _PAIR),
        _create_glue("wnli", ("0", "1"), _LABELED_PAIR, _PAIR),
        create_xnli(),
        create_sick("sick_e"),
        create_sick("sick_r"),
    )
}
