"""Variables that are read from the file of a SavedModel without TensorFlow."""

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf.errors import InputError
from bert_tf.model_folder import read_config, saved_models

WORDS = "word_embeddings/embeddings"


@pytest.fixture
def path(tmp_path):
    """A saved_model.pb, written with TensorFlow's message types, that has variables but no model."""
    saved_model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    graph = saved_model.meta_graphs.add()
    graph.meta_info_def.tags.append("serve")
    graph.graph_def.versions.producer = 2**31 - 1  # a long integer
    graph.graph_def.node.add(name="x" * 300).attr["value"].f = 0.5  # four bytes
    graph.saver_def.keep_checkpoint_every_n_hours = 1.0
    for name, shape in ((WORDS, (30522, 8)), ("caf\u00e9", ()), ("x", (0,))):
        variable = graph.object_graph_def.nodes.add().variable
        variable.name = name
        for size in shape:
            variable.shape.dim.add(size=size)
    path = tmp_path / "saved_model.pb"
    path.write_bytes(saved_model.SerializeToString())
    return path


def test_names_and_shapes(path, tmp_path):
    assert saved_models.read_variables(str(path)) == {WORDS: [30522, 8], "caf\u00e9": [], "x": [0]}
    assert saved_models.is_encoder(str(tmp_path))
    assert saved_models.read_variables(str(tmp_path / "nowhere.pb")) == {}
    with pytest.raises(InputError, match=f"^{path}: has no variable position_embedding/embeddings; only SavedModels o"):
        read_config(str(path))  # As for the ALBERT of TF Hub.


def test_a_damaged_file_raises_nothing(path):
    content = path.read_bytes()
    complete = saved_models.read_variables(str(path))
    damaged = [content[:size] for size in range(0, len(content), 3)]
    damaged += [content[:at] + byte + content[at + 1:] for at in range(0, len(content), 3)
                for byte in (b"\xff", b"\x00")]
    for each in (*damaged, b"\x80" * 100):
        path.write_bytes(each)
        assert isinstance(saved_models.read_variables(str(path)), dict)
    path.write_bytes(b"\xff" * 100)
    assert saved_models.read_variables(str(path)) == {} != complete
