"""What TensorFlow would do with a traced function on a GPU, told on any machine by its registry of kernels.

TensorFlow's Linux wheel is the CUDA build: its kernels are registered whether or not there is a GPU. An operation that
has none for a GPU runs on the host, and TensorFlow says nothing: its inputs are copied there, and its outputs back.
"""

import functools
import re

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.framework import kernels, op_def_registry
from tensorflow.python.grappler import cluster, tf_optimizer

SMALL = 16  # elements: shapes, seeds, learning rates; copying them costs a few microseconds
DEVICES = ("GPU", "DEFAULT")  # TensorFlow looks for a kernel of the device, then for one that any device can use

# What TensorFlow makes of a loop or branch before it runs, for each value that goes in and out.
LOWERED = {"While": ("Enter", "Merge", "Switch", "Exit", "NextIteration"), "If": ("Switch", "Merge")}
LOWERED |= {f"Stateless{name}": value for name, value in LOWERED.items()}
GPU = device_properties_pb2.NamedDevice(
    name="/job:localhost/replica:0/task:0/device:GPU:0", properties=device_properties_pb2.DeviceProperties(
        type="GPU", vendor="NVIDIA", num_cores=108, frequency=1410, memory_size=40 * 2**30, bandwidth=1555 * 10**6,
        environment={"architecture": "8.0", "cuda": "12050", "cudnn": "90300"}))  # about an A100
INLINED = {"PartitionedCall", "StatefulPartitionedCall"}


def operations(graph):
    """Yields the tf.Operations of a graph and of all functions that it calls: loop bodies, branches, gradients."""
    graphs, seen = [graph], set()
    while graphs:
        graph = graphs.pop()
        for operation in graph.get_operations():
            yield operation
            for name in _called(operation):
                if name not in seen:
                    seen.add(name)
                    graphs.append(graph._get_function(name).graph)


def without_kernel(operations):
    """The operations that no GPU kernel fits: dict of type and what its kernels depend on, a str -> operation."""
    return {_described(operation): operation for operation in operations if not _has_kernel(operation)}


def large_in_host_memory(operations):
    """What a GPU's kernel wants in host memory: dict of a description with argument, type and shape -> operation.

    Counted are tensors of the numbers that activations, gradients and random bits are made of, floating or unsigned,
    with more than SMALL elements, or of an unknown size.
    """
    return {f"{_described(operation)}: {argument} {tensor.dtype.name} {tensor.shape}": operation
            for operation in operations for argument, tensor in _in_host_memory(operation)
            if (tensor.dtype.is_floating or tensor.dtype.is_unsigned) and not _is_small(tensor)}


def copied_to_host(operations):
    """What a GPU's kernel makes in its memory and another one wants in the host's: dict as of `large_in_host_memory`.

    Each such copy lets the host wait for the GPU. Tensors of any type count that have more than SMALL elements; those
    that come into the function do not.
    """
    found = {}
    for operation in operations:
        for argument, tensor in _in_host_memory(operation):
            maker = kernel_of(tensor.op)
            if maker and tensor.op.type != "Placeholder" and not _is_small(tensor) and all(
                    tensor is not made for _, made in _in_host_memory(tensor.op)):
                found[f"{tensor.op.type} to {_described(operation)}: {argument} {tensor.dtype.name} {tensor.shape}"] = (
                    operation)
    return found


def kernel_of(operation):
    """The KernelDef by which a GPU would run a tf.Operation, None if there is none."""
    values = tuple(_hashable(operation.get_attr(name)) for name in _constrained(operation.type))
    return _find(operation.type, values)


@functools.cache
def _kernels(kind):
    found = kernels.get_registered_kernels_for_op(kind).kernel
    return [kernel for kernel in found if kernel.device_type in DEVICES and not kernel.label]


@functools.cache
def _constrained(kind):
    """The names of the attributes that the kernels of an operation depend on."""
    return tuple(sorted({constraint.name for kernel in _kernels(kind) for constraint in kernel.constraint}))


@functools.cache
def _find(kind, values):
    attributes = dict(zip(_constrained(kind), values, strict=True))
    fitting = [kernel for kernel in _kernels(kind)
               if all(_allows(constraint.allowed_values.list, attributes[constraint.name])
                      for constraint in kernel.constraint)]
    return min(fitting, key=lambda kernel: (DEVICES.index(kernel.device_type), -kernel.priority), default=None)


def _allows(allowed, value):
    """Whether a kernel's constraint, an AttrValue.ListValue of types, strings or numbers, allows an attribute."""
    values = {*map(tf.as_dtype, allowed.type), *allowed.s, *allowed.i, *allowed.b}
    return set(value) <= values if isinstance(value, tuple) else value in values


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def optimized(graph):
    """A graph of one function as TensorFlow's graph optimizer leaves it for a GPU: fused, folded, inlined.

    It is told of a GPU that is not here. What it keeps is what writes a variable, and what the graph returns.
    """
    meta_graph = meta_graph_pb2.MetaGraphDef(graph_def=graph.as_graph_def(add_shapes=True))
    for nodes in (meta_graph.graph_def.node, *(f.node_def for f in meta_graph.graph_def.library.function)):
        for node in nodes:
            node.device = GPU.name
    kept = [operation.name for operation in graph.get_operations() if re.match("Assign|ResourceApply", operation.type)]
    kept += [tensor.op.name for tensor in graph.outputs]
    meta_graph.collection_def["train_op"].node_list.value.extend(kept)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1  # it passes over small graphs
    result = tf.Graph()
    with result.as_default():
        tf.graph_util.import_graph_def(tf_optimizer.OptimizeGraph(
            config, meta_graph, verbose=False, cluster=cluster.Cluster(devices=[GPU])), name="")
    return result


def _has_kernel(operation):
    if operation.type in LOWERED:
        return all(_find(kind, (dtype,)) for kind in LOWERED[operation.type]
                   for dtype in {tensor.dtype for tensor in operation.outputs})
    return operation.type in INLINED or kernel_of(operation) is not None


@functools.cache
def _definition(kind):
    return op_def_registry.get(kind)


def _called(operation):
    """The names of the functions that an operation calls."""
    for attribute in _definition(operation.type).attr:
        if attribute.type == "func":
            yield operation.get_attr(attribute.name).name
        elif attribute.type == "list(func)":
            yield from (function.name for function in operation.get_attr(attribute.name))


def _in_host_memory(operation):
    """(name of the argument, tensor) for what a GPU's kernel of an operation wants in host memory, as a list."""
    kernel = kernel_of(operation)
    return [(name, tensor) for name, tensor in _tensors(operation) if kernel and name in kernel.host_memory_arg]


def _tensors(operation):
    """Yields (name of the argument, tensor) for the inputs and outputs of an operation."""
    definition = _definition(operation.type)
    for arguments, tensors in ((definition.input_arg, operation.inputs), (definition.output_arg, operation.outputs)):
        tensors = iter(tensors)
        for argument in arguments:
            count = 1
            if argument.number_attr:
                count = operation.get_attr(argument.number_attr)
            elif argument.type_list_attr:
                count = len(operation.get_attr(argument.type_list_attr))
            for _ in range(count):
                yield argument.name, next(tensors)


def _is_small(tensor):
    """Whether a tensor has at most SMALL elements, or is a handle of a variable or the like, not numbers."""
    size = tensor.shape.num_elements()
    return tensor.dtype in (tf.resource, tf.variant) or (size is not None and size <= SMALL)


def _described(operation):
    names = _constrained(operation.type) or [
        attribute.name for attribute in _definition(operation.type).attr if attribute.type == "type"]
    values = (operation.get_attr(name) for name in names)
    return f"{operation.type} " + ", ".join(
        f"{name}={getattr(value, 'name', value)}" for name, value in zip(names, values, strict=True))
