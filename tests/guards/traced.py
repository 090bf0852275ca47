"""`python -m tests.guards.traced FILE MODULE FLAGS...` runs a script and counts the operations of its training step.

The training step is the traced function with the most operations, including the functions that it calls. FILE gets a
JSON dict of operation type to count. The hook is in TensorFlow's FuncGraph, so that it does not depend on the project.
"""

import atexit
import collections
import json
import runpy
import sys


def count(graph_def):
    """Counts the operations of a GraphDef and its functions by type."""
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return collections.Counter(node.op for node in nodes)


def watch():
    """Returns a list to which each new FuncGraph is added."""
    from tensorflow.python.framework import func_graph

    made, begin = [], func_graph.FuncGraph.__init__

    def kept(graph, *values, **named):
        begin(graph, *values, **named)
        made.append(graph)

    func_graph.FuncGraph.__init__ = kept
    return made


def write(path, graphs):
    counts = [count(graph.as_graph_def()) for graph in graphs]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(max(counts, key=lambda found: found.total()), file, sort_keys=True)


def main():
    _, path, module, *arguments = sys.argv
    atexit.register(write, path, watch())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
