"""Files saved_model.pb that have signatures but no model, written with TensorFlow's message types."""

from tensorflow.core.protobuf import saved_model_pb2


def write(path, signatures):
    """Writes a saved_model.pb; signatures: dict of name -> (names of inputs, names of outputs)."""
    saved_model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    graph = saved_model.meta_graphs.add()
    graph.meta_info_def.tags.append("serve")
    graph.graph_def.versions.producer = 2**31 - 1  # a long integer
    graph.graph_def.node.add(name="x" * 300).attr["value"].f = 0.5  # four bytes
    graph.saver_def.keep_checkpoint_every_n_hours = 1.0
    for name, parts in signatures.items():
        signature = graph.signature_def[name]
        for names, tensors in zip(parts, (signature.inputs, signature.outputs), strict=True):
            for each in names:
                tensors[each].name = f"{each}:0"
        signature.method_name = "tensorflow/serving/predict"
    path.mkdir(exist_ok=True)
    content = saved_model.SerializeToString()
    (path / "saved_model.pb").write_bytes(content)
    return content
