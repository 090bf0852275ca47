"""Counts of the operations of traced training steps and of exports."""

import collections
import contextlib
from unittest import mock

from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import func_graph

from tests import scripts
from tests.guards import cases

TRAINED = ("classifier", "pretraining")  # Cases with a counted training step.
OF_PRETRAINING = {"max_seq_length": 24, "vocab_file": "vocab.txt", "do_lower_case": True}
EXPORTS = {  # name -> case that trains the model, flags of run.export_saved_model
    "classifier": ("classifier", {}),
    "token_classifier": ("tagger", {}),
    "span_labeler": ("squad_v2", {}),
    "multiple_choice": ("multiple_choice", {}),
    "masked_lm": ("pretraining", {"task": "masked_lm", **OF_PRETRAINING}),
    "encoder": ("pretraining", {"task": "encoder", **OF_PRETRAINING}),
    "litert": (
        "classifier",
        {"format": "litert", "lengths": 16, "batch_sizes": 1, "max_seq_length": 24},
    ),
}


def count(graph_def):
    """Counts the operations of a GraphDef and its functions by type."""
    nodes = [
        *graph_def.node,
        *(node for function in graph_def.library.function for node in function.node_def),
    ]
    return dict(collections.Counter(node.op for node in nodes))


def count_training(name, folder):
    """Runs a case; returns the operations of its training step, dict of type to count.

    The training step is the traced function with the most operations, including the functions that
    it calls.
    """
    case = cases.CASES[name]
    cases.run_needed(case, folder)
    graphs = []
    begin = func_graph.FuncGraph.__init__

    def keep(graph, *values, **named):
        begin(graph, *values, **named)
        graphs.append(graph)

    with mock.patch.object(func_graph.FuncGraph, "__init__", keep), contextlib.chdir(folder):
        scripts.run_here(case.module, output_dir=f"{name}_traced", **case.flags)
    return max(
        (count(graph.as_graph_def()) for graph in graphs), key=lambda found: sum(found.values())
    )


def count_export(name, folder):
    """Exports a model of EXPORTS.

    Returns the operations of all its functions or graphs, dict of type to count.
    """
    case, flags = EXPORTS[name]
    cases.run(case, folder)
    exported = folder / f"export_{name}"
    scripts.succeed(
        "run.export_saved_model", folder, init_checkpoint=case, export_dir=exported, **flags
    )
    if name == "litert":
        return count_litert((exported / "model_float32.tflite").read_bytes())
    model = saved_model_pb2.SavedModel.FromString((exported / "1" / "saved_model.pb").read_bytes())
    return count(model.meta_graphs[0].graph_def)


def count_litert(content):
    """Counts the operations of the graphs of a LiteRT model by type."""
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content)
    names = {
        code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)
    }
    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    return dict(
        collections.Counter(
            names[codes[operator.opcodeIndex]]
            for graph in model.subgraphs
            for operator in graph.operators
        )
    )
