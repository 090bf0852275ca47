"""One embedding of a text: `encode`, predictions, the SavedModel, and the LiteRT file agree."""

import numpy as np
import pytest

import bert_tf
from bert_tf.serving import checkpoint, litert, saved_model
from run.inference.served_models import resolve_checkpoint
from tests.errors import rejects
from tests.toy_servables import CONFIG, LOAD_OPTIONS, TEXTS, make_model
from tests.variants import mark_variants

OPTIONS = LOAD_OPTIONS["encoder"]
FIRST_AND_SECOND = [TEXTS[0], TEXTS[3]]


def compute_expected(toy_tokenizer, pooling):
    """Returns the embeddings of two texts, from the outputs of the encoder for each by itself."""
    embeddings = []
    for text in FIRST_AND_SECOND:
        features = toy_tokenizer.encode([text], max_seq_length=OPTIONS["max_seq_length"])
        count = features["input_mask"].numpy().sum()
        outputs = make_model("encoder")(
            {name: value[:, :count] for name, value in features.items()}
        )
        tokens = outputs["sequence_output"][0].numpy()
        embeddings.append(
            {
                "mean": tokens.mean(axis=0),
                "max": tokens.max(axis=0),
                "cls": tokens[0],
                "pooler": outputs["pooled_output"][0].numpy(),
            }[pooling]
        )
    return np.array(embeddings)


@pytest.mark.large
@pytest.mark.parametrize("pooling", mark_variants([None, "max", "cls", "pooler"], None))
def test_all_formats_have_one_embedding(toy_checkpoints, toy_tokenizer, tmp_path, pooling):
    path = str(toy_checkpoints / "encoder")
    expected = compute_expected(toy_tokenizer, pooling or "mean")
    requested = {"sentence_pooling": pooling} if pooling else {}
    options = resolve_checkpoint(path, **OPTIONS, **requested, task="encoder").servable_options
    exported, _ = saved_model.save(checkpoint.load_servable(**options), str(tmp_path / "served"))
    lite = tmp_path / "model.tflite"
    servable = checkpoint.load_servable(**options | {"static_length": True, "layer": "litert"})
    lite.write_bytes(litert.convert_servable(servable, lengths=[24], batch_sizes=[1]))
    for model in (
        bert_tf.load(path, kind="encoder", **OPTIONS, **requested),
        bert_tf.load(exported),
        bert_tf.load(lite),
    ):
        assert model.metadata.sentence_pooling == (pooling or "mean")
        answer = model(text=FIRST_AND_SECOND)
        assert "pooled_output" not in answer
        rows = model.predict(text=FIRST_AND_SECOND)
        assert [{*row} for row in rows] == [{"sentence_embedding", "was_cut"}] * 2
        for embeddings in (
            answer["sentence_embedding"],
            [row["sentence_embedding"] for row in rows],
            model.encode(FIRST_AND_SECOND),
        ):
            np.testing.assert_allclose(embeddings, expected, rtol=0, atol=1e-5)
        assert model.encode([]).shape == (0, CONFIG.hidden_size)
        assert model(text=[])["sentence_embedding"].shape == (0, CONFIG.hidden_size)


def test_only_encoders_have_a_pooling(toy_checkpoints):
    with rejects(None, "sentence_pooling is 'first'", "must be one of mean, max"):
        bert_tf.load(toy_checkpoints / "encoder", sentence_pooling="first", **OPTIONS)
    with rejects("sentence_pooling", "has no effect on models", value="max"):
        bert_tf.load(toy_checkpoints / "classifier", sentence_pooling="max")


@pytest.mark.extra_large
def test_the_sixth_model_of_a_process_does_not_warn(toy_checkpoints, caplog):
    for _ in range(7):
        bert_tf.load(toy_checkpoints / "encoder", kind="encoder", **OPTIONS).encode(["a"])
    assert "retracing" not in caplog.text
