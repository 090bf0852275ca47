"""Counts of the operations of traced training steps and of exports."""

import json
import pathlib
import re

from tensorflow.core.protobuf import saved_model_pb2

from tests import scripts
from tests.guards import cases
from tests.guards.traced import count

TRAINED = ("classifier", "pretraining")  # cases with a counted training step
SIZES = {"max_seq_length": 24}
OF_PRETRAINING = {**SIZES, "vocab_file": "vocab.txt", "do_lower_case": True}
EXPORTS = {  # name -> case that trains the model, flags of run.export_saved_model
    "classifier": ("classifier", {}),
    "classifier_bfloat16": ("classifier", {"compute": "bfloat16"}),
    "windows": ("windows", {}),
    "token_classifier": ("tagger", {}),
    "span_labeler": ("squad_v1", {}),
    "multiple_choice": ("multiple_choice", {}),
    "masked_lm": ("pretraining", {"task": "masked_lm", **OF_PRETRAINING}),
    "encoder": ("pretraining", {"task": "encoder", **OF_PRETRAINING}),
}
OF_KINDS = ("classifier", "token_classifier", "span_labeler", "multiple_choice", "masked_lm", "encoder")
LITERT = {"format": "litert", "lengths": 16, "batch_sizes": 1, **SIZES}


def of_training(name, folder):
    """Runs a case. Returns the operations of its training step, dict of type to count."""
    case = cases.CASES[name]
    for needed in case.needs:
        cases.run(needed, folder)
    path = folder / f"{name}_operations.json"
    command = scripts.command(case.module, output_dir=f"{name}_traced", **case.flags)
    python, option, module, *flags = command
    done = scripts.run([python, option, "tests.guards.traced", str(path), module, *flags], folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(path.read_text())


def of_export(name, folder):
    """Writes a SavedModel of EXPORTS. Returns the operations of all its functions, dict of type to count."""
    case, flags = EXPORTS[name]
    exported = export(case, f"export_{name}", folder, **flags)
    model = saved_model_pb2.SavedModel.FromString((exported / "1" / "saved_model.pb").read_bytes())
    return dict(sorted(count(model.meta_graphs[0].graph_def).items()))


def of_litert(case, folder):
    """Writes a LiteRT model of a case. Returns the operations of its graphs, dict of type to count."""
    from tensorflow.lite.python import schema_py_generated as schema

    exported = export(case, f"litert_{case}", folder, **LITERT)
    model = schema.ModelT.InitFromPackedBuf((exported / "model_float32.tflite").read_bytes())
    names = {code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
    found = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            name = names[max(model.operatorCodes[operator.opcodeIndex].builtinCode,
                             model.operatorCodes[operator.opcodeIndex].deprecatedBuiltinCode)]
            found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def export(case, export_dir, folder, **flags):
    """Exports the model of a case. Returns the directory of the export."""
    cases.run(case, folder)
    scripts.succeed("run.export_saved_model", folder, init_checkpoint=case, export_dir=export_dir, **flags)
    return pathlib.Path(folder) / export_dir


def all_of_them(folder, only=""):
    """Yields names in which the regular expression `only` is found, each with a dict of type to count."""
    every = {**{f"training/{name}": (of_training, name) for name in TRAINED},
             **{f"export/{name}": (of_export, name) for name in EXPORTS},
             "litert/classifier": (of_litert, "classifier")}
    for name, (count_of, argument) in every.items():
        if re.search(only, name):
            yield name, count_of(argument, folder)
