"""The command `bert-tf`: `bert-tf run_classifier ...` is `python -m run.run_classifier ...`.

Without arguments, it lists the scripts by subject, each with the beginning of its documentation.
"""

import ast
import importlib.metadata
import importlib.util
import re
import runpy
import sys

DISTRIBUTION = "bert-tf"
SCRIPTS = {
    "Data": (
        "data_prep.split_sentences",
        "data_prep.learn_vocab",
        "data_prep.create_pretraining_data",
        "data_prep.inspect_records",
    ),
    "Pre-training and fine-tuning": (
        "run.run_pretraining",
        "run.run_classifier",
        "run.run_squad",
        "run.run_tagger",
        "run.run_multiple_choice",
        "run.run_feature_based",
    ),
    "Predictions": ("run.predict", "run.answer", "run.fill_mask", "run.extract_features"),
    "Checkpoints and serving": (
        "run.export_saved_model",
        "run.evaluate_models",
        "run.convert_checkpoint",
    ),
    "Smaller models": ("run.run_distillation", "run.run_general_distillation", "run.prune_model"),
    "Analysis": ("run.attention_report", "run.analyze_attention", "run.probe_layers"),
    "Demonstration": ("run.demo",),
}


def main():
    """Runs the script that the first argument names, in this process.

    Without arguments, lists all scripts.
    """
    modules = {module.partition(".")[2]: module for group in SCRIPTS.values() for module in group}
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    check_packages()
    if name in ("--help", "-h", "help"):
        print(list_scripts())
    elif name in modules:
        del sys.argv[1]
        runpy.run_module(modules[name], run_name="__main__", alter_sys=True)
    else:
        sys.exit(f"bert-tf: unknown script {name!r}; bert-tf without arguments lists all scripts")


def check_packages():
    """Ends the process if another project has also installed a package `run` or `data_prep`."""
    owners = importlib.metadata.packages_distributions()
    for package in ("run", "data_prep"):
        for owner in owners.get(package, ()):
            if owner != DISTRIBUTION:
                sys.exit(
                    f"bert-tf: {owner} from PyPI also installs the package {package!r}; remove it "
                    f"with pip uninstall {owner}, then install {DISTRIBUTION} again"
                )


def list_scripts():
    """Returns the list of scripts, str of several lines."""
    lines = [
        "usage: bert-tf SCRIPT --flag=value ...; bert-tf SCRIPT --help lists the flags of a script"
    ]
    for subject, modules in SCRIPTS.items():
        lines += ["", f"{subject}:"]
        lines += [f"  {module.partition('.')[2]:<26}{_read_purpose(module)}" for module in modules]
    return "\n".join(lines)


def _read_purpose(module):
    """Returns the beginning of a module's docstring, up to a comma or colon.

    It does not run the module.
    """
    name = f"{module}.__main__" if module == "run.demo" else module
    spec = importlib.util.find_spec(name)
    with open(spec.origin, encoding="utf-8") as file:
        return re.split(r"[:,] |\.?\n", ast.get_docstring(ast.parse(file.read())), maxsplit=1)[0]
