"""The order of the packages, and rules for all files.

Data goes in one direction, text -> records -> model -> checkpoint -> SavedModel, and so do imports.
"""

import ast
import functools
import graphlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
TOP = ("bert_tf", "data_prep", "run")
MAX_LINES = 450  # Limit for a file.

# Packages, and modules at the root of bert_tf. Each may import itself and those of the lines above
# it. "data_prep/" and "run/" are the scripts in these directories. No line of the library follows
# bert_tf.cli, so that it imports no flags.
ORDER = """
bert_tf.errors bert_tf.lazy_names bert_tf.notes bert_tf.processor bert_tf.tensorflow_messages
bert_tf.features bert_tf.variables
bert_tf.files bert_tf.saved_objects bert_tf.checkpoints.huggingface_config
bert_tf.config bert_tf.layers bert_tf.tokenization bert_tf.optimization
bert_tf.losses bert_tf.tasks
bert_tf.tasks.<kind>
bert_tf.checkpoints
bert_tf.keras_support bert_tf.tokenization.tokenizer
bert_tf.encoder
bert_tf.fast
bert_tf.models
bert_tf.techniques bert_tf.tasks.<kind>.graph
bert_tf.techniques.compression bert_tf.serving
bert_tf bert_tf.cli
data_prep data_prep.binary_formats data_prep.compilation data_prep.processes
data_prep.reading data_prep.text_settings
data_prep.records data_prep.tables data_prep.vocabulary
data_prep.datasets data_prep.pretraining.instances
data_prep.tasks.squad
data_prep.pretraining data_prep.tasks
data_prep.sentences
data_prep/
run run.demo run.training
run.pretraining run.finetuning.metrics
run.finetuning.tasks run.techniques
run.finetuning
run.feature_based run.distillation run.inference
run.pruning run.analysis
run/
"""
LEVELS = {
    package: number for number, line in enumerate(ORDER.split("\n")) for package in line.split()
}

# Module -> imports inside its functions, without which it must start or serve. Scripts may also
# import in `main`, so that --help and an unknown flag take no time.
LATE_IMPORTS = {
    "bert_tf.files.remote": {"tensorflow"},
    "bert_tf.serving.saved_model": {"tensorflow_serving"},  # An optional package.
    # Writing a file, which reading it does without.
    "bert_tf.serving.litert": {
        "bert_tf.serving.litert_vectors",
        "tensorflow",
        "bert_tf.tasks.servable",
    },
    "bert_tf.serving.mediapipe": {
        "tensorflow",
        "bert_tf.tasks.encoder.graph",
        "bert_tf.tasks.servable",
    },
    # Optional packages, and TensorFlow for writing a file.
    "bert_tf.serving.onnx": {"onnx", "onnxruntime", "tensorflow", "tf2onnx"},
    "bert_tf.serving.openvino": {
        "bert_tf.serving.saved_model",
        "bert_tf.techniques.int8",
        "openvino",
    },
    "bert_tf.serving.openvino_ranges": {"nncf"},
    "data_prep.compilation": {"numba"},
    "data_prep.records.schema": {"tensorflow"},
    "data_prep.tables.objects": {"pyarrow"},  # An optional package.
    "data_prep.pretraining.job": {"data_prep.pretraining.beam_runner"},
    # A process imports TensorFlow with its first shard.
    "data_prep.pretraining.shards": {"bert_tf.tokenization"},
    "data_prep.pretraining.beam_runner": {
        "dask",
        "distributed",  # Dask is an optional package.
        "data_prep.pretraining.shards",
    },
    "run.finetuning.metrics.glue_scores": {
        "scipy",
        "sklearn",
    },  # The first step does not wait for it.
    "run.training.plots": {"matplotlib"},
    "run.finetuning.tasks.token_classifier": {"seqeval", "sklearn"},
    "bert_tf.cli.model_settings": {"bert_tf.tokenization"},
    "bert_tf.checkpoints.saved_models": {"google", "tensorflow"},
    "bert_tf.checkpoints.model_garden": {"tensorflow"},
    # These modules import TensorFlow or safetensors.
    "bert_tf.checkpoints.keras_hub": {"h5py"},
    "bert_tf.checkpoints.peft": {"bert_tf.checkpoints.safetensors_file"},
    "bert_tf.checkpoints.huggingface": {"bert_tf.checkpoints.safetensors_file"},
    "bert_tf.checkpoints.origin": {"bert_tf.checkpoints.tensorflow_file"},
    "bert_tf.checkpoints.original": {"bert_tf.checkpoints.tensorflow_file"},
    # These modules import TensorFlow or LiteRT, which the other formats do not require.
    "bert_tf.serving.loading": {
        "bert_tf.serving.saved_model",
        "bert_tf.serving.checkpoint",
        "bert_tf.serving.litert",
    },
    "run.inference.predict": {"bert_tf.serving.checkpoint"},
}


@functools.cache
def get_modules():
    """Returns a dict of the name of each module of the project -> its path.

    A package is its __init__.
    """
    modules = {}
    for path in sorted(path for top in TOP for path in (ROOT / top).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


@functools.cache
def parse(path):
    """Returns the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_script(path):
    """Returns whether a path is a script in data_prep/, run/, or run/demo/."""
    return path.name != "__init__.py" and path.parent.relative_to(ROOT).as_posix() in (
        "data_prep",
        "run",
        "run/demo",
    )


def find_package(name, path):
    """Returns the entry of ORDER for a module.

    The packages in bert_tf.tasks, one for each kind of task, are one entry, and their modules
    graph.py, which import the models, are another.
    """
    kind = re.match(r"bert_tf\.tasks\.\w+(?=\.)", name)
    if name.startswith("bert_tf.tasks.") and (kind or path.name == "__init__.py"):
        return f"bert_tf.tasks.<kind>{'.graph' if name.endswith('.graph') else ''}"
    if name in LEVELS or path.name == "__init__.py":
        return name
    return f"{name.split('.')[0]}/" if is_script(path) else name.rpartition(".")[0]


def find_imports(tree, known):
    """Returns the modules that a syntax tree imports.

    They have full names in this project, and otherwise the names of packages.
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            targets = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {target if target in known else node.module for target in targets}
    return {name if name.split(".")[0] in (*TOP, "tests") else name.split(".")[0] for name in names}


def find_late_imports(tree, known):
    """Returns a set of (function, module) of the imports inside functions."""
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {
        (function.name, name) for function in functions for name in find_imports(function, known)
    }


def goes_down(name, target):
    """Returns whether ORDER permits that the first module imports the second one."""
    packages = [
        find_package(module, get_modules().get(module, ROOT / "tests")) for module in (name, target)
    ]
    return (
        packages[0] == packages[1]
        # The __init__ of a package imports its subpackages.
        or target.startswith(f"{packages[0]}.")
        or LEVELS.get(packages[1], len(LEVELS)) < LEVELS[packages[0]]
    )


def test_every_package_is_in_the_order():
    assert {find_package(name, path) for name, path in get_modules().items()} == set(LEVELS)


@pytest.mark.parametrize("top", TOP)
def test_imports_go_down(top):
    known = get_modules()
    found = {
        (name, target)
        for name, path in known.items()
        if name.split(".")[0] == top
        for target in find_imports(parse(path), known)
        if target.split(".")[0] in (*TOP, "tests") and not goes_down(name, target)
    }
    assert found == set()


def test_no_import_cycles():
    known = get_modules()
    graph = {
        name: (find_imports(parse(path), known) & set(known)) - {name}
        for name, path in known.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # Raises CycleError, which names the cycle.


def test_keras_is_tf_keras():
    for name, path in get_modules().items():
        attributes = {
            (node.value.id, node.attr)
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        assert not {("tf", "keras"), ("tensorflow", "keras")} & attributes, name
        assert "keras" not in find_imports(parse(path), {}), name


def test_only_scripts_and_bert_tf_cli_import_absl():
    known = get_modules()
    assert {
        name
        for name, path in known.items()
        if "absl" in find_imports(parse(path), known)
        and not (is_script(path) or name.startswith("bert_tf.cli."))
    } == set()


def test_late_imports():
    known = get_modules()
    late_imports = {}
    for name, path in known.items():
        for function, target in find_late_imports(parse(path), known):
            if not (is_script(path) and function == "main"):
                late_imports.setdefault(name, set()).add(target)
    assert late_imports == LATE_IMPORTS


def test_files_are_short():
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines())
        for name, path in get_modules().items()
    }
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}
