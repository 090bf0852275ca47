"""Which package may import which, and what no file of the project does.

Data goes one way, text -> records -> model -> checkpoint -> SavedModel, and so do imports: the table ALLOWED has every
arrow between packages. A new package, or a new arrow, has to be written there, and stands out in a review.
"""

import ast
import functools
import graphlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
TOP = ("bert_tf", "data_prep", "run")
MOST_LINES = 400  # of a file

# Package, or module at the root of bert_tf -> those that it may import beside itself, lower floors first. "x.*" are x
# and all that is below it. A package's __init__ may also import the packages inside it, to hand them out.
# "data_prep (scripts)" and "run (scripts)" are the files at the top of these folders.
ROOT_MODULES = ("bert_tf.errors", "bert_tf.files", "bert_tf.config", "bert_tf.losses", "bert_tf.encoder",
                "bert_tf.models")
ALLOWED = {
    "bert_tf.errors": (),
    "bert_tf.files": ("bert_tf.errors",),
    "bert_tf.run_state": ("bert_tf.errors", "bert_tf.files"),
    "bert_tf.huggingface_config": ("bert_tf.errors",),
    "bert_tf.config": ("bert_tf.errors", "bert_tf.files", "bert_tf.huggingface_config"),
    "bert_tf.saved_objects": ("bert_tf.errors", "bert_tf.config"),
    "bert_tf.losses": ("bert_tf.errors",),
    "bert_tf.layers": ("bert_tf.errors", "bert_tf.saved_objects"),
    "bert_tf.encoder": ("bert_tf.errors", "bert_tf.saved_objects", "bert_tf.layers"),
    "bert_tf.models": ("bert_tf.saved_objects", "bert_tf.encoder", "bert_tf.layers"),
    "bert_tf.fast": ("bert_tf.saved_objects", "bert_tf.encoder", "bert_tf.layers"),
    "bert_tf.tokenization": ("bert_tf.errors", "bert_tf.files"),
    "bert_tf.analysis": ("bert_tf.errors", "bert_tf.layers", "bert_tf.tokenization"),
    "bert_tf.tasks": ("bert_tf.errors", "bert_tf.tokenization"),
    "bert_tf.litert": ("bert_tf.errors", "bert_tf.files", "bert_tf.tokenization", "bert_tf.tasks"),
    "bert_tf.model_folder": ("bert_tf.errors", "bert_tf.files", "bert_tf.run_state", "bert_tf.huggingface_config",
                             "bert_tf.config", "bert_tf.tokenization", "bert_tf.tasks"),
    "bert_tf.cli": ("bert_tf.errors", "bert_tf.files", "bert_tf.run_state", "bert_tf.config", "bert_tf.tokenization",
                    "bert_tf.tasks", "bert_tf.model_folder"),
    "bert_tf.checkpoints": ("bert_tf.errors", "bert_tf.files", "bert_tf.huggingface_config", "bert_tf.config",
                            "bert_tf.tokenization", "bert_tf.tasks", "bert_tf.model_folder"),
    "bert_tf.techniques": ("bert_tf.errors", "bert_tf.losses", "bert_tf.layers", "bert_tf.checkpoints"),
    "bert_tf.compression": ("bert_tf.errors", "bert_tf.checkpoints", "bert_tf.techniques"),
    "bert_tf.optimization": ("bert_tf.errors", "bert_tf.saved_objects", "bert_tf.checkpoints"),
    "bert_tf.export": ("bert_tf.errors", "bert_tf.files", "bert_tf.fast", "bert_tf.tokenization", "bert_tf.tasks",
                       "bert_tf.litert", "bert_tf.checkpoints"),
    "bert_tf.tasks.graphs": ("bert_tf.errors", "bert_tf.losses", "bert_tf.models", "bert_tf.tokenization",
                             "bert_tf.tasks", "bert_tf.export"),
    "bert_tf.serving": ("bert_tf.errors", "bert_tf.files", "bert_tf.config", "bert_tf.fast", "bert_tf.tokenization",
                        "bert_tf.tasks", "bert_tf.litert", "bert_tf.model_folder", "bert_tf.cli",
                        "bert_tf.checkpoints", "bert_tf.export", "bert_tf.tasks.graphs"),
    "bert_tf": ("bert_tf.serving",),

    "data_prep": (),
    "data_prep.machine": (),
    "data_prep.records": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "bert_tf.tokenization",
                          "data_prep.machine"),
    "data_prep.vocabulary": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "bert_tf.tokenization",
                             "data_prep.machine"),
    "data_prep.pretraining.instances": ("bert_tf.errors", "bert_tf.cli", "data_prep.machine", "data_prep.records"),
    "data_prep.pretraining": ("bert_tf.errors", "bert_tf.files", "bert_tf.cli", "bert_tf.tokenization",
                              "data_prep.machine", "data_prep.records",
                              "data_prep.pretraining.instances"),
    "data_prep.tasks.squad": ("bert_tf.errors", "bert_tf.files", "bert_tf.tokenization", "bert_tf.tasks",
                              "data_prep.records"),
    "data_prep.tasks": ("bert_tf.errors", "bert_tf.files", "bert_tf.model_folder", "bert_tf.cli",
                        "data_prep.tasks.squad"),
    "data_prep.augmentation": ("bert_tf.*", "data_prep.tasks"),
    "data_prep (scripts)": ("bert_tf.*", "data_prep.*"),

    "run": (),
    "run.settings": (*ROOT_MODULES, "bert_tf.cli", "bert_tf.tokenization", "bert_tf.model_folder"),
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
    "run.inference.formats": ("bert_tf.errors", "bert_tf.files", "data_prep.tasks"),
    "run.inference": ("bert_tf.*", "data_prep.tasks", "data_prep.records", "run.settings", "run.training",
                      "run.arrays", "run.tasks", "run.finetuning", "run.inference.formats"),
    "run.compression": ("bert_tf.*", "data_prep.tasks", "run.settings", "run.evaluation", "run.training", "run.arrays",
                        "run.tasks", "run.techniques", "run.pretraining", "run.finetuning", "run.inference"),
    "run.inside": ("bert_tf.*", "data_prep.tasks", "run.settings", "run.training", "run.arrays", "run.finetuning",
                   "run.inference"),
    "run.demo": ("bert_tf.*", "data_prep.*", "run.evaluation"),
    "run (scripts)": ("bert_tf.*", "data_prep.*", "run.settings", "run.evaluation", "run.training", "run.pretraining",
                      "run.finetuning", "run.inference.*", "run.compression", "run.inside"),
}

# Modules that import inside functions, and what: they must start, or serve, without it. (Scripts may in `main`, so
# that --help and a misspelt flag answer at once.)
LATE_IMPORTS = {
    "bert_tf.files.remote": {"tensorflow"},
    "bert_tf.export.saved_model": {"tensorflow_serving"},  # a package that need not be installed
    "data_prep.machine.compilation": {"numba"},
    "data_prep.records.schema": {"tensorflow"},
    "data_prep.pretraining.job": {"bert_tf.tokenization", "data_prep.pretraining.local_runner",
                                  "data_prep.pretraining.beam_runner"},
    "bert_tf": {"bert_tf.serving"},  # `import bert_tf` costs nothing
    "bert_tf.cli.model_settings": {"bert_tf.tokenization"},
    "bert_tf.serving.loading": {"bert_tf.serving.saved_model", "bert_tf.serving.checkpoint"},  # import TensorFlow
}


def modules():
    """{dotted name: path} of the project's modules; a package is its __init__."""
    found = {}
    for path in sorted(path for top in TOP for path in (ROOT / top).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_script(name):
    """Whether a module is one that is run by hand, in data_prep/, run/ or run/demo/."""
    path = modules()[name]
    return path.name != "__init__.py" and path.parent.relative_to(ROOT).as_posix() in ("data_prep", "run", "run/demo")


def place_of(name, path):
    """The key of ALLOWED that a module belongs to, whether or not it is there."""
    if name in ALLOWED or path.name == "__init__.py":
        return name
    package = name.rpartition(".")[0]
    return f"{package} (scripts)" if package in ("data_prep", "run") else package


def imported(node, known):
    """The modules that an import statement names: those of the project in full, others by their top package."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        assert node.level == 0, "relative import"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if name in known else node.module for name in names]
    return [name if name.split(".")[0] in (*TOP, "tests") else name.split(".")[0] for name in names]


def imports(tree, known):
    """The modules that a file imports, wherever in the file."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
            for name in imported(node, known)}


def late_imports(tree, known):
    """(function, module) of each import inside a function."""
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {(function.name, name) for node in ast.walk(function)
                      if isinstance(node, ast.Import | ast.ImportFrom) for name in imported(node, known)}
    return found


def allowed_places(place):
    """The places that a place of ALLOWED may import, itself among them."""
    found = {place}
    for each in ALLOWED[place]:
        base = each.removesuffix(".*")
        found |= {other for other in ALLOWED if other == base or (base != each and other.startswith(f"{base}."))}
    return found


def wrong_arrows(name, path, tree, known):
    """What a module imports against the table, in words."""
    place = place_of(name, path)
    if place not in ALLOWED:
        return [f"{name}: {place} is not in the table"]
    return [f"{name} ({place}) imports {target}" for target in sorted(imports(tree, known))
            if target.split(".")[0] in (*TOP, "tests")
            and not (path.name == "__init__.py" and name.split(".")[1:] and target.startswith(f"{name}."))
            and (target not in known or place_of(target, known[target]) not in allowed_places(place))]


def test_the_table_has_every_package_and_no_other():
    places = {place_of(name, path) for name, path in modules().items()}
    assert places == set(ALLOWED)


def test_the_table_has_no_circle_and_names_lower_floors_alone():
    order = list(ALLOWED)
    for place in ALLOWED:
        for each in ALLOWED[place]:
            assert each.removesuffix(".*") in ALLOWED, f"{place}: {each} is no package"
        later = [each for each in allowed_places(place) if order.index(each) > order.index(place)]
        assert not later, f"{place} may import {later}, which the table has above it"


@pytest.mark.parametrize("top", TOP)
def test_every_arrow_is_in_the_table(top):
    known = modules()
    wrong = [line for name, path in known.items() if name.split(".")[0] == top
             for line in wrong_arrows(name, path, tree_of(path), known)]
    assert wrong == []


def test_modules_do_not_import_each_other_in_a_circle():
    known = modules()
    graph = {name: {target for target in imports(tree_of(path), known) if target in known and target != name}
             for name, path in known.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_keras_is_tf_keras():
    for name, path in modules().items():
        attributes = {(node.value.id, node.attr) for node in ast.walk(tree_of(path))
                      if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
        assert not {("tf", "keras"), ("tensorflow", "keras")} & attributes, name
        assert "keras" not in imports(tree_of(path), {}), name


def test_flags_are_of_scripts_and_of_the_package_that_makes_them():
    known = modules()
    wrong = {name for name, path in known.items() if "absl" in imports(tree_of(path), known)
             and not (is_script(name) or name.startswith("bert_tf.cli."))}
    assert wrong == set()


def test_imports_stand_at_the_top():
    known = modules()
    wrong = {(name, function, target) for name, path in known.items()
             for function, target in late_imports(tree_of(path), known)
             if target not in LATE_IMPORTS.get(name, ()) and not (is_script(name) and function == "main")}
    assert wrong == set()


def test_late_imports_are_there():
    known = modules()
    for name, targets in LATE_IMPORTS.items():
        assert {target for _, target in late_imports(tree_of(known[name]), known)} == targets, name


def test_a_file_can_be_read_in_one_sitting():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


KNOWN = {name: pathlib.Path(f"{name.replace('.', '/')}{suffix}") for name, suffix in (
    ("bert_tf.config", ".py"), ("bert_tf.files", "/__init__.py"), ("bert_tf.cli", "/__init__.py"),
    ("run.training", "/__init__.py"), ("run.training.step", ".py"), ("data_prep.records", "/__init__.py"),
    ("data_prep.tasks", "/__init__.py"), ("data_prep.tasks.squad", "/__init__.py"),
    ("data_prep.tasks.tables", ".py"), ("data_prep.secrets", "/__init__.py"), ("bert_tf", "/__init__.py"))}


@pytest.mark.parametrize(("name", "code", "wrong"), [
    ("bert_tf.config", "from bert_tf.files import new_file\nimport json", []),
    ("bert_tf.config", "def f():\n    from run.training import step", ["imports run.training.step"]),
    ("bert_tf.config", "import run.training.step as s", ["imports run.training.step"]),
    ("bert_tf.config", "from bert_tf import cli, files", ["imports bert_tf.cli"]),
    ("bert_tf.config", "from tests import scripts", ["imports tests"]),
    ("bert_tf.files", "from bert_tf.config import BertConfig", ["imports bert_tf.config"]),
    ("data_prep.records", "from bert_tf.files import a\nfrom data_prep.records import b", []),
    ("data_prep.tasks", "from data_prep.tasks import squad", []),
    ("data_prep.tasks.tables", "from data_prep.tasks import squad", []),
    ("data_prep.tasks.squad", "from data_prep.tasks import tables", ["imports data_prep.tasks.tables"]),
    ("bert_tf", "from bert_tf import files", ["imports bert_tf.files"]),
    ("data_prep.secrets", "", ["data_prep.secrets is not in the table"]),
    ("run.training.step", "from bert_tf.cli import a\nfrom run.training import b", []),
    ("run.training.step", "from data_prep import records", ["imports data_prep.records"]),
])
def test_a_wrong_arrow_would_be_seen(name, code, wrong):
    found = wrong_arrows(name, KNOWN[name], ast.parse(code), KNOWN)
    assert len(found) == len(wrong)
    for line, end in zip(found, wrong, strict=True):
        assert line.endswith(end)


def test_a_late_import_would_be_seen():
    tree = ast.parse("import os\ndef f():\n    def g():\n        import tensorflow as tf\n    from absl import flags\n")
    assert late_imports(tree, {}) == {("f", "tensorflow"), ("g", "tensorflow"), ("f", "absl")}
