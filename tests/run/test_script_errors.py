"""Every script: `--help` lists the script's own flags, and an error is one line with exit status 1.

Rejections are tested in process: those of settings in test_script_settings, others at the function that raises them.
"""

import importlib
import pkgutil
import re
import subprocess
import sys

import pytest

import data_prep
import run
from tests import scripts

pytestmark = pytest.mark.large

ERRORS = {  # Module -> part of the error message without flags, or with those of FLAGS.
    "data_prep.create_pretraining_data": "--input_file is required",
    "data_prep.inspect_records": "--input_file is required",
    "data_prep.learn_vocab": "--input_file is required",
    "data_prep.split_sentences": "--input_file is required",
    "run.analyze_attention": "--input_file is required without --treebank",
    "run.answer": "--init_checkpoint is required, or --model",
    "run.attention_report": "--text is required without --input_file or --wrong_examples",
    "run.convert_checkpoint": "--input is required",
    "run.demo": "flag --num_train_steps=0",
    "run.evaluate_models": "--models is required",
    "run.export_saved_model": "--export_dir is required",
    "run.extract_features": "--input_file is required",
    "run.fill_mask": "--init_checkpoint is required, or --model",
    "run.predict": "--model is required",
    "run.probe_layers": "--train_file is required",
    "run.prune_model": "--init_checkpoint is required",
    "run.run_classifier": "--data_dir is required without --data_file",
    "run.run_distillation": "--output_dir is required",
    "run.run_feature_based": "--train_file is required",
    "run.run_general_distillation": "--input_file is required",
    "run.run_multiple_choice": "--output_dir is required",
    "run.run_pretraining": "--input_file is required",
    "run.run_squad": "--output_dir is required",
    "run.run_tagger": "flag --max_seq_length=many",
}
FLAGS = {"run.demo": {"num_train_steps": 0}, "run.run_tagger": {"max_seq_length": "many"}}


def test_every_script_is_listed():
    names = {f"{package.__name__}.{module.name}" for package in (run, data_prep)
             for module in pkgutil.iter_modules(package.__path__)}
    assert {name for name in names if hasattr(importlib.import_module(name), "COMMAND")} | {"run.demo"} == set(ERRORS)


@pytest.mark.parametrize("module", ERRORS)
def test_an_error_is_one_line(module, tmp_path):
    name, _, message = scripts.fail(module, tmp_path, **FLAGS.get(module, {})).partition(": ")
    assert name == ("__main__.py" if module == "run.demo" else f"{module.rpartition('.')[2]}.py")
    assert ERRORS[module] in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.extra_large
@pytest.mark.parametrize("module", ERRORS)
def test_help_lists_the_flags_of_the_script(module, tmp_path):
    """The script is run by its path, outside of the repository."""
    name = "run.demo.__main__" if module == "run.demo" else module
    done = subprocess.run([sys.executable, scripts.ROOT / f"{name.replace('.', '/')}.py", "--helpfull"],
                          capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with scripts.defined(importlib.import_module(name)) as flags:
        names = set(flags)
    assert names == set(re.findall(r"^  --(?:\[no\])?(\w+):", done.stdout, re.MULTILINE))
