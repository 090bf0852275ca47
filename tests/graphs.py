"""Graphs of TensorFlow."""


def list_operations(graph):
    """Returns the tf.Operations of a graph and of the functions that it calls."""
    graphs = [graph]
    operations = []
    seen = set()
    while graphs:
        graph = graphs.pop()
        operations += graph.get_operations()
        attributes = [
            value
            for operation in graph.get_operations()
            for value in operation.node_def.attr.values()
        ]
        called = {
            function.name for value in attributes for function in (value.func, *value.list.func)
        } - {""}
        graphs += [graph._get_function(name).graph for name in called - seen]
        seen |= called
    return operations
