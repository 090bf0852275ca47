"""The GPU kernels of a traced function, from TensorFlow's registry of kernels, on any machine.

TensorFlow's Linux wheel registers its CUDA kernels even if there is no GPU. Without a GPU kernel, an operation runs on
the host. Then TensorFlow copies its inputs and outputs without a message.
"""

import functools
import re

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.framework import kernels, op_def_registry
from tensorflow.python.grappler import cluster, tf_optimizer

SMALL = 16  # Elements of a shape, seed, or learning rate, which take a few microseconds to copy.
DEVICES = ("GPU", "DEFAULT")  # TensorFlow prefers a kernel of the device to a kernel for any device.

# Control flow operation -> the operations that TensorFlow replaces it with, for each of its values.
LOWERED = {"While": ("Enter", "Merge", "Switch", "Exit", "NextIteration"), "If": ("Switch", "Merge")}
LOWERED |= {f"Stateless{name}": value for name, value in LOWERED.items()}
GPU = device_properties_pb2.NamedDevice(
    name="/job:localhost/replica:0/task:0/device:GPU:0", properties=device_properties_pb2.DeviceProperties(
        type="GPU", vendor="NVIDIA", num_cores=108, frequency=1410, memory_size=40 * 2**30, bandwidth=1555 * 10**6,
        environment={"architecture": "8.0", "cuda": "12050", "cudnn": "90300"}))  # Similar to an A100.
INLINED = {"PartitionedCall", "StatefulPartitionedCall"}


def operations(graph):
    """Yields the tf.Operations of a graph and of the functions that it calls: loop bodies, branches, gradients."""
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
    """Returns the operations without a GPU kernel: dict of description (type and attributes) -> operation."""
    return {_described(operation): operation for operation in operations if not _has_kernel(operation)}


def in_host_memory(operations, only_activations=False):
    """Returns the tensors that GPU kernels require in host memory, although they are activations or made by the GPU.

    Each copy from the GPU lets the host wait. Ignores tensors with at most SMALL elements, integers that the host
    computes, and the arguments of the function.

    Args:
      operations: tf.Operations.
      only_activations: Whether to ignore all integers, which the host may read after a step.

    Returns:
      Dict of description -> operation.
    """
    found = {}
    for operation in operations:
        for argument, tensor in _in_host_memory(operation):
            is_activation = tensor.dtype.is_floating or tensor.dtype.is_unsigned  # Unsigned: random bits.
            is_copied = not only_activations and kernel_of(tensor.op) and tensor.op.type != "Placeholder" and all(
                tensor is not made for _, made in _in_host_memory(tensor.op))
            if (is_activation or is_copied) and not _is_small(tensor):
                found[f"{tensor.op.type} to {_described(operation)}: {argument} {tensor.dtype.name} {tensor.shape}"] = (
                    operation)
    return found


def kernel_of(operation):
    """Returns the KernelDef with which a GPU runs a tf.Operation, or None."""
    values = tuple(_hashable(operation.get_attr(name)) for name in _constrained(operation.type))
    return _find(operation.type, values)


@functools.cache
def _kernels(kind):
    found = kernels.get_registered_kernels_for_op(kind).kernel
    return [kernel for kernel in found if kernel.device_type in DEVICES and not kernel.label]


@functools.cache
def _constrained(kind):
    """Returns the names of the attributes that the kernels of an operation depend on."""
    return tuple(sorted({constraint.name for kernel in _kernels(kind) for constraint in kernel.constraint}))


@functools.cache
def _find(kind, values):
    attributes = dict(zip(_constrained(kind), values, strict=True))
    fitting = [kernel for kernel in _kernels(kind)
               if all(_allows(constraint.allowed_values.list, attributes[constraint.name])
                      for constraint in kernel.constraint)]
    return min(fitting, key=lambda kernel: (DEVICES.index(kernel.device_type), -kernel.priority), default=None)


def _allows(allowed, value):
    """Returns whether a kernel's constraint, an AttrValue.ListValue, allows the value of an attribute."""
    values = {*map(tf.as_dtype, allowed.type), *allowed.s, *allowed.i, *allowed.b}
    return set(value) <= values if isinstance(value, tuple) else value in values


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def optimized(graph):
    """Returns the graph of a function as TensorFlow's graph optimizer transforms it for GPU: fused, folded, inlined.

    The optimizer retains the operations that write variables, and the outputs of the graph.
    """
    meta_graph = meta_graph_pb2.MetaGraphDef(graph_def=graph.as_graph_def(add_shapes=True))
    for nodes in (meta_graph.graph_def.node, *(f.node_def for f in meta_graph.graph_def.library.function)):
        for node in nodes:
            node.device = GPU.name
    kept = [operation.name for operation in graph.get_operations() if re.match("Assign|ResourceApply", operation.type)]
    kept += [tensor.op.name for tensor in graph.outputs]
    meta_graph.collection_def["train_op"].node_list.value.extend(kept)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1  # It ignores small graphs.
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
    """Yields the names of the functions that an operation calls."""
    for attribute in _definition(operation.type).attr:
        if attribute.type == "func":
            yield operation.get_attr(attribute.name).name
        elif attribute.type == "list(func)":
            yield from (function.name for function in operation.get_attr(attribute.name))


def _in_host_memory(operation):
    """Returns a list of (name of the argument, tensor) for the host memory of an operation's GPU kernel."""
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
    """Returns whether a tensor has at most SMALL elements, or is a handle of a variable or list."""
    size = tensor.shape.num_elements()
    return tensor.dtype in (tf.resource, tf.variant) or (size is not None and size <= SMALL)


def _described(operation):
    names = _constrained(operation.type) or [
        attribute.name for attribute in _definition(operation.type).attr if attribute.type == "type"]
    values = (operation.get_attr(name) for name in names)
    return f"{operation.type} " + ", ".join(
        f"{name}={getattr(value, 'name', value)}" for name, value in zip(names, values, strict=True))
