"""The head of the initial checkpoint: whether to load it, or only the encoder.

The head is the task-specific last layer. A classifier of three labels loads only the encoder of one
with two.
"""

from bert_tf.checkpoints import ModelDirectory
from bert_tf.cli.script import warn
from bert_tf.errors import InputError


def choose_new_variables(task, model_path, keep_head, config):
    """Decides whether to load the task head of a checkpoint, and prints the decision.

    By default, it is loaded if it fits and task.json does not say that it was trained for other
    labels. The names of the labels decide, not the task: RTE's head fits QNLI.

    Args:
      task: Task that has read its data.
      model_path: Path for ModelDirectory.open, or None.
      keep_head: bool. Whether to load the head. None decides.
      config: BertConfig.

    Returns:
      Tuple of the names of head variables that keep their initial values, even if the checkpoint
      contains them.

    Raises:
      InputError: With `keep_head`, if the checkpoint has no head for this task, or one that does
        not fit.
    """
    if not model_path:
        return ()
    shapes = task.head_shapes(config)
    directory = ModelDirectory.open(model_path)
    tensors = directory.checkpoint.tensors
    missing = [name for name in shapes if name not in tensors]
    if missing:
        if keep_head:
            raise InputError(
                f"`keep_head`: `init_checkpoint`={model_path} has no head for this task; it lacks "
                f"{', '.join(missing)}"
            )
        return ()
    if any(tensors[name].shape[1:] != shape[1:] for name, shape in shapes.items()):
        return ()  # The hidden size of the entire model differs, which loading reports.
    fits = all(tensors[name].shape == shape for name, shape in shapes.items())
    if fits:
        difference = _describe_difference(task, directory.task)
    else:
        name, shape = next(iter(shapes.items()))
        difference = f"has {tensors[name].shape[0]} outputs, but this task requires {shape[0]}"
    if keep_head and not fits:
        raise InputError(
            f"`keep_head`: the head of `init_checkpoint`={model_path} does not fit: it {difference}"
        )
    if keep_head or (keep_head is None and not difference):
        return ()
    reason = f"; the checkpoint's head {difference}" if difference else " (`nokeep_head`)"
    hint = (
        "; set `keep_head` to load it anyway" if fits and difference and keep_head is None else ""
    )
    warn(
        f"`init_checkpoint`={model_path}: loads the encoder and initializes a new "
        f"head{reason}{hint}"
    )
    return tuple(shapes)


def get_output_order(task, model_path):
    """Returns the index in a checkpoint's head of each label of a task, and prints a new order.

    Args:
      task: Task that has read its data.
      model_path: Path for ModelDirectory.open.

    Returns:
      Tuple of int. () if the order is the same, or if the checkpoint has other labels.
    """
    existing = ModelDirectory.open(model_path).task
    if existing is None or existing.kind != task.metadata.kind or existing.has_generic_labels:
        return ()
    labels = task.order_labels(existing.labels)
    if labels == task.metadata.labels or {*labels} != {*task.metadata.labels}:
        return ()
    warn(
        f"`init_checkpoint`={model_path}: reorders the outputs of its head, "
        f"{', '.join(existing.labels)}, to {', '.join(task.metadata.labels)}"
    )
    return tuple(labels.index(label) for label in task.metadata.labels)


def _describe_difference(task, existing):
    """Describes how the TaskMetadata of a checkpoint differs from this task, or returns None.

    The head in the checkpoint is for the task in task.json.
    """
    metadata = task.metadata
    if existing is None or (
        (existing.kind, existing.multi_label) == (metadata.kind, metadata.multi_label)
        and (
            existing.has_generic_labels
            or (
                len(existing.labels) == len(metadata.labels)
                and {*task.order_labels(existing.labels)} == {*metadata.labels}
            )
        )
    ):
        return None
    return f"is of {_describe_task(existing)}, but this task requires {_describe_task(metadata)}"


def _describe_task(metadata):
    """Describes the kind and the labels of a TaskMetadata."""
    if not metadata.labels:
        return f"a {metadata.kind} without labels"
    number = "any number of the" if metadata.multi_label else "the"
    return f"a {metadata.kind} with {number} labels {', '.join(metadata.labels)}"
