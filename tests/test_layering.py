"""The imports between packages, and rules for all files.

Data goes in one direction, text -> records -> model -> checkpoint -> SavedModel, and so do imports. The table ALLOWED
lists every permitted import between packages.
"""

import ast
import functools
import graphlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
TOP = ("bert_tf", "data_prep", "run")
MAX_LINES = 400  # Limit for a file.

# Package, or module at the root of bert_tf -> packages that it may import. Lower layers are first. "x.*" means x and
# all packages in it. The __init__ of a package may also import the packages in it. "data_prep (scripts)" and
# "run (scripts)" are the files at the top of these directories.
ROOT_MODULES = ("bert_tf.errors", "bert_tf.files", "bert_tf.config", "bert_tf.losses", "bert_tf.encoder",
                "bert_tf.models")
ALLOWED = {
    "bert_tf.errors": (),
    "bert_tf.processor": (),
    "bert_tf.files": ("bert_tf.errors",),
    "bert_tf.latest_checkpoint": ("bert_tf.errors", "bert_tf.files"),
    "bert_tf.huggingface_config": ("bert_tf.errors",),
    "bert_tf.variables": (),
    "bert_tf.config": ("bert_tf.errors", "bert_tf.files", "bert_tf.huggingface_config", "bert_tf.variables"),
    "bert_tf.saved_objects": ("bert_tf.errors",),
    "bert_tf.layers": ("bert_tf.errors", "bert_tf.saved_objects"),
    "bert_tf.losses": ("bert_tf.errors", "bert_tf.saved_objects", "bert_tf.layers"),
    "bert_tf.keras_model": ("bert_tf.errors", "bert_tf.losses", "bert_tf.saved_objects"),
    "bert_tf.features": ("bert_tf.errors", "bert_tf.saved_objects"),
    "bert_tf.encoder": ("bert_tf.config", "bert_tf.saved_objects", "bert_tf.keras_model", "bert_tf.layers",
                        "bert_tf.features"),
    "bert_tf.models": ("bert_tf.errors", "bert_tf.saved_objects", "bert_tf.keras_model", "bert_tf.layers",
                       "bert_tf.features", "bert_tf.encoder"),
    "bert_tf.fast": ("bert_tf.saved_objects", "bert_tf.layers", "bert_tf.features", "bert_tf.encoder"),
    "bert_tf.tokenization": ("bert_tf.errors", "bert_tf.files"),
    "bert_tf.analysis": ("bert_tf.errors", "bert_tf.layers", "bert_tf.tokenization"),
    "bert_tf.tasks": ("bert_tf.errors", "bert_tf.tokenization"),
    "bert_tf.litert": ("bert_tf.processor", "bert_tf.errors", "bert_tf.files", "bert_tf.tokenization", "bert_tf.tasks"),
    "bert_tf.model_folder": ("bert_tf.errors", "bert_tf.files", "bert_tf.latest_checkpoint",
                             "bert_tf.huggingface_config", "bert_tf.config", "bert_tf.tokenization", "bert_tf.tasks"),
    "bert_tf.cli": ("bert_tf.processor", "bert_tf.errors", "bert_tf.files", "bert_tf.latest_checkpoint",
                    "bert_tf.config", "bert_tf.tokenization", "bert_tf.tasks",
                    "bert_tf.model_folder"),
    "bert_tf.checkpoints": ("bert_tf.errors", "bert_tf.files", "bert_tf.latest_checkpoint",
                            "bert_tf.huggingface_config", "bert_tf.variables", "bert_tf.config", "bert_tf.tokenization",
                            "bert_tf.tasks", "bert_tf.model_folder"),
    "bert_tf.pretrained": ("bert_tf.errors", "bert_tf.files", "bert_tf.encoder", "bert_tf.fast", "bert_tf.tokenization",
                           "bert_tf.tasks", "bert_tf.model_folder", "bert_tf.checkpoints"),
    "bert_tf.techniques": ("bert_tf.errors", "bert_tf.losses", "bert_tf.layers", "bert_tf.fast", "bert_tf.checkpoints"),
    "bert_tf.compression": ("bert_tf.errors", "bert_tf.variables", "bert_tf.checkpoints", "bert_tf.techniques"),
    "bert_tf.optimization": ("bert_tf.errors", "bert_tf.variables", "bert_tf.saved_objects"),
    "bert_tf.export": ("bert_tf.errors", "bert_tf.files", "bert_tf.fast", "bert_tf.tokenization", "bert_tf.tasks",
                       "bert_tf.litert", "bert_tf.checkpoints"),
    "bert_tf.served_models": ("bert_tf.errors", "bert_tf.models", "bert_tf.tokenization", "bert_tf.tasks"),
    "bert_tf.serving": ("bert_tf.errors", "bert_tf.files", "bert_tf.config", "bert_tf.fast", "bert_tf.tokenization",
                        "bert_tf.tasks", "bert_tf.litert", "bert_tf.model_folder",
                        "bert_tf.checkpoints", "bert_tf.served_models"),
    "bert_tf": ("bert_tf.serving",),

    "data_prep": (),
    "data_prep.compilation": (),
    "data_prep.processes": (),
    "data_prep.reading": ("bert_tf.errors", "bert_tf.files"),
    "data_prep.records": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "bert_tf.tokenization",
                          "data_prep.compilation"),
    "data_prep.vocabulary": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "bert_tf.tokenization",
                             "data_prep.processes", "data_prep.reading"),
    "data_prep.pretraining.instances": ("bert_tf.errors", "bert_tf.cli", "bert_tf.tokenization",
                                        "data_prep.compilation", "data_prep.records"),
    "data_prep.pretraining": ("bert_tf.processor", "bert_tf.errors", "bert_tf.files", "bert_tf.cli",
                              "bert_tf.tokenization", "data_prep.processes", "data_prep.reading", "data_prep.records",
                              "data_prep.pretraining.instances"),
    "data_prep.sentences": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "data_prep.reading",
                            "data_prep.pretraining"),
    "data_prep.tasks.squad": ("bert_tf.errors", "bert_tf.files", "bert_tf.tokenization", "bert_tf.tasks",
                              "data_prep.records"),
    "data_prep.tasks": ("bert_tf.errors", "bert_tf.files", "bert_tf.tokenization", "bert_tf.tasks", "bert_tf.cli",
                        "data_prep.tasks.squad"),
    "data_prep (scripts)": ("bert_tf.*", "data_prep.*"),

    "run": (),
    "run.settings": (*ROOT_MODULES, "bert_tf.cli", "bert_tf.tokenization", "bert_tf.tasks", "bert_tf.model_folder",
                     "bert_tf.serving"),
    "run.evaluation": (*ROOT_MODULES, "data_prep.tasks", "data_prep.tasks.squad"),
    "run.training": ("bert_tf.*", "run.settings", "run.evaluation"),
    "run.arrays": ("bert_tf.*", "run.training"),
    "run.tasks": ("bert_tf.*", "data_prep.tasks", "data_prep.tasks.squad", "data_prep.records", "run.evaluation",
                  "run.training", "run.arrays"),
    "run.techniques": ("bert_tf.*", "data_prep.tasks", "run.training", "run.arrays"),
    "run.pretraining": ("bert_tf.*", "data_prep.*", "run.settings", "run.evaluation", "run.training",
                        "run.techniques"),
    "run.finetuning": ("bert_tf.*", "data_prep.*", "run.settings", "run.evaluation", "run.training", "run.arrays",
                       "run.tasks", "run.techniques"),
    "run.feature_based": ("bert_tf.*", "data_prep.tasks", "run.settings", "run.evaluation", "run.training",
                          "run.arrays", "run.tasks", "run.finetuning"),
    "run.serving.formats": ("bert_tf.errors", "bert_tf.files", "data_prep.tasks"),
    "run.serving": ("bert_tf.*", "data_prep.tasks", "data_prep.records", "run.settings", "run.training",
                      "run.arrays", "run.tasks", "run.finetuning", "run.serving.formats"),
    "run.compression": ("bert_tf.*", "data_prep.tasks", "run.settings", "run.evaluation", "run.training", "run.arrays",
                        "run.tasks", "run.techniques", "run.pretraining", "run.finetuning", "run.serving"),
    "run.analysis": ("bert_tf.*", "data_prep.tasks", "run.settings", "run.evaluation", "run.training", "run.arrays",
                     "run.finetuning", "run.serving", "run.serving.formats"),
    "run.demo": ("bert_tf.*", "data_prep.*", "run.evaluation"),
    "run (scripts)": ("bert_tf.*", "data_prep.*", "run.settings", "run.evaluation", "run.training", "run.pretraining",
                      "run.finetuning", "run.feature_based", "run.serving.*", "run.compression", "run.analysis"),
}

# Modules of classes with `from_pretrained` or `save_pretrained`. These methods import the module above them that
# constructs the classes, late; no other import may go up or close a cycle.
PRETRAINED = "bert_tf.pretrained"
PRETRAINED_CLASSES = ("bert_tf.keras_model", "bert_tf.tokenization.tokenizer")

# Module -> imports inside its functions, without which it must start or serve. Scripts may also import in `main`, so
# that --help and an unknown flag take no time.
LATE_IMPORTS = {
    **{name: {PRETRAINED} for name in PRETRAINED_CLASSES},
    "bert_tf.files.remote": {"tensorflow"},
    "bert_tf.export.saved_model": {"tensorflow_serving"},  # An optional package.
    "data_prep.compilation": {"numba"},
    "data_prep.records.schema": {"tensorflow"},
    "data_prep.pretraining.job": {"data_prep.pretraining.beam_runner"},
    "data_prep.pretraining.shards": {"bert_tf.tokenization"},  # TensorFlow, with the first shard of a process.
    "data_prep.pretraining.beam_runner": {"dask", "distributed",  # Dask is an optional package.
                                          "apache_beam", "data_prep.pretraining.shards"},
    "run.evaluation.metrics": {"scipy", "sklearn"},  # The first step does not wait for it.
    "run.evaluation.plots": {"matplotlib"},
    "run.tasks.token_classifier": {"seqeval", "sklearn"},
    "bert_tf": {"bert_tf.serving"},  # `import bert_tf` is fast.
    "bert_tf.cli.model_settings": {"bert_tf.tokenization"},
    "bert_tf.model_folder.saved_models": {"google", "tensorflow"},
    "bert_tf.serving.loading": {"bert_tf.serving.saved_model", "bert_tf.serving.checkpoint"},  # TensorFlow.
    "run.serving.predicting": {"bert_tf.serving.checkpoint"},
}


@functools.cache
def get_modules():
    """Returns a dict of the name of each module of the project -> its path; a package is its __init__."""
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
    return path.name != "__init__.py" and path.parent.relative_to(ROOT).as_posix() in ("data_prep", "run", "run/demo")


def find_place(name, path):
    """Returns the key of ALLOWED for a module, even if the table does not contain it."""
    if name in ALLOWED or path.name == "__init__.py":
        return name
    package = name.rpartition(".")[0]
    return f"{package} (scripts)" if package in ("data_prep", "run") else package


def find_imports(tree, known):
    """Returns the modules that a syntax tree imports: full names in this project, else the names of packages."""
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
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {(function.name, name) for function in functions for name in find_imports(function, known)}


def find_allowed(place):
    """Returns the keys of ALLOWED that a key may import, including itself."""
    allowed = {place}
    for entry in ALLOWED[place]:
        base = entry.removesuffix(".*")
        allowed |= {other for other in ALLOWED if other == base or (base != entry and other.startswith(f"{base}."))}
    return allowed


def find_violations(name, path, tree, known):
    """Returns messages about the imports of a module that the table does not list."""
    place = find_place(name, path)
    if place not in ALLOWED:
        return [f"{name}: {place} is not in the table"]
    allowed = find_allowed(place) | ({PRETRAINED} if name in PRETRAINED_CLASSES else set())
    return [f"{name} ({place}) imports {target}" for target in sorted(find_imports(tree, known))
            if target.split(".")[0] in (*TOP, "tests")
            and not (path.name == "__init__.py" and name.split(".")[1:] and target.startswith(f"{name}."))
            and (target not in known or find_place(target, known[target]) not in allowed)]


def test_table_lists_the_packages_in_order():
    assert {find_place(name, path) for name, path in get_modules().items()} == set(ALLOWED)
    order = list(ALLOWED)
    for place, entries in ALLOWED.items():
        assert {entry.removesuffix(".*") for entry in entries} <= set(ALLOWED)
        assert [other for other in find_allowed(place) if order.index(other) > order.index(place)] == []


@pytest.mark.parametrize("top", TOP)
def test_imports_are_in_the_table(top):
    known = get_modules()
    assert [line for name, path in known.items() if name.split(".")[0] == top
            for line in find_violations(name, path, parse(path), known)] == []


def test_the_library_does_not_import_command_lines():
    known = get_modules()
    assert {name for name, path in known.items() if name.split(".")[:2] != ["bert_tf", "cli"] and any(
        target.startswith("bert_tf.cli") for target in find_imports(parse(path), known))
        and name.split(".")[0] == "bert_tf"} == set()


def test_no_import_cycles():
    known = get_modules()
    graph = {name: (find_imports(parse(path), known) & set(known)) - {name} for name, path in known.items()}
    for name in PRETRAINED_CLASSES:
        graph[name].remove(PRETRAINED)
    graphlib.TopologicalSorter(graph).prepare()  # Raises CycleError, which names the cycle.


def test_keras_is_tf_keras():
    for name, path in get_modules().items():
        attributes = {(node.value.id, node.attr) for node in ast.walk(parse(path))
                      if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
        assert not {("tf", "keras"), ("tensorflow", "keras")} & attributes, name
        assert "keras" not in find_imports(parse(path), {}), name


def test_only_scripts_and_bert_tf_cli_import_absl():
    known = get_modules()
    assert {name for name, path in known.items() if "absl" in find_imports(parse(path), known)
            and not (is_script(path) or name.startswith("bert_tf.cli."))} == set()


def test_late_imports():
    known, late_imports = get_modules(), {}
    for name, path in known.items():
        for function, target in find_late_imports(parse(path), known):
            if not (is_script(path) and function == "main"):
                late_imports.setdefault(name, set()).add(target)
    assert late_imports == LATE_IMPORTS


def test_files_are_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in get_modules().items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


KNOWN = {name: pathlib.Path(name.replace(".", "/"), "__init__.py") for name in (
    "bert_tf", "bert_tf.files", "data_prep.records", "data_prep.tasks", "data_prep.tasks.squad", "data_prep.secrets")}


@pytest.mark.parametrize(("name", "code", "expected"), [
    ("data_prep.records", "from bert_tf.files import new_file\nfrom data_prep.records import b\nimport json", []),
    ("data_prep.tasks", "from data_prep.tasks import squad", []),
    ("data_prep.tasks.squad", "def f():\n    from data_prep import tasks", ["imports data_prep.tasks"]),
    ("bert_tf.files", "import data_prep.tasks.squad as s", ["imports data_prep.tasks.squad"]),
    ("bert_tf.files", "from tests import scripts", ["imports tests"]),
    ("data_prep.secrets", "", ["data_prep.secrets is not in the table"]),
])
def test_violations_are_found(name, code, expected):
    found = find_violations(name, KNOWN[name], ast.parse(code), KNOWN)
    assert len(found) == len(expected)
    assert all(map(str.endswith, found, expected))
