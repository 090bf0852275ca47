"""The command `bert-tf`: `bert-tf run_classifier ...` is `python -m run.run_classifier ...`.

Without arguments, it lists the scripts by subject, each with the beginning of its documentation.
"""

import ast
import difflib
import importlib.metadata
import importlib.util
import pathlib
import re
import runpy
import sys

DISTRIBUTION = "bert-tf"
SCRIPTS = {
    "Data": ("data_prep.split_sentences", "data_prep.learn_vocab", "data_prep.create_pretraining_data",
             "data_prep.inspect_records"),
    "Pre-training and fine-tuning": ("run.run_pretraining", "run.run_classifier", "run.run_squad", "run.run_tagger",
                                     "run.run_multiple_choice", "run.run_feature_based"),
    "Predictions": ("run.predict", "run.answer", "run.fill_mask", "run.extract_features"),
    "Checkpoints and serving": ("run.export_saved_model", "run.evaluate_models", "run.convert_checkpoint"),
    "Smaller models": ("run.run_distillation", "run.run_general_distillation", "run.prune_model"),
    "Analysis": ("run.attention_report", "run.analyze_attention", "run.probe_layers"),
    "Demonstration": ("run.demo",),
}


def main():
    """Runs the script that the first argument names, in this process; without arguments, lists all scripts."""
    modules = {module.partition(".")[2]: module for group in SCRIPTS.values() for module in group}
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if problem := find_foreign_package():
        sys.exit(f"bert-tf: {problem}")
    if name in ("--help", "-h", "help"):
        print(list_scripts())
    elif name in modules:
        del sys.argv[1]
        runpy.run_module(modules[name], run_name="__main__", alter_sys=True)
    else:
        similar = difflib.get_close_matches(name, modules, 1)
        sys.exit(f"bert-tf: unknown script {name!r}; " + (f"did you mean {similar[0]}?" if similar else
                                                          "bert-tf without arguments lists all scripts"))


def find_foreign_package():
    """Returns a message if the package `run` or `data_prep` that Python finds belongs to another project, else None."""
    owners = importlib.metadata.packages_distributions()
    for package in ("run", "data_prep"):
        foreign = [owner for owner in owners.get(package, ()) if owner != DISTRIBUTION]
        if foreign:
            return (f"{foreign[0]} from PyPI also installs the package {package!r}; remove it with pip uninstall "
                    f"{foreign[0]}, then install {DISTRIBUTION} again")
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            return f"files of the package {package!r} are missing; install {DISTRIBUTION} again"
        if pathlib.Path(spec.origin).parents[1] != pathlib.Path(__file__).parents[2]:
            return f"{spec.origin} is not the package {package!r} of this project; rename it"
    return None


def list_scripts():
    """Returns the list of scripts, str of several lines."""
    lines = ["usage: bert-tf SCRIPT --flag=value ...; bert-tf SCRIPT --help lists the flags of a script"]
    for subject, modules in SCRIPTS.items():
        lines += ["", f"{subject}:"]
        lines += [f"  {module.partition('.')[2]:<26}{_read_purpose(module)}" for module in modules]
    return "\n".join(lines)


def _read_purpose(module):
    """Returns the beginning of a module's docstring, up to a comma or colon; it does not run the module."""
    spec = importlib.util.find_spec(f"{module}.__main__") if module == "run.demo" else importlib.util.find_spec(module)
    with open(spec.origin, encoding="utf-8") as file:
        return re.split(r"[:,] |\.?\n", ast.get_docstring(ast.parse(file.read())), maxsplit=1)[0]
