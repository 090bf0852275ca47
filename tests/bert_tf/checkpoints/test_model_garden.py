"""Checkpoints and SavedModels that tf-models-official wrote or reads.

Outputs are equal within 2e-5.
"""

import functools

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from official.legacy.bert import configs
from official.nlp.modeling import layers, networks
from official.nlp.modeling.models import BertPretrainerV2
from official.nlp.tools import export_tfhub_lib

from bert_tf import models
from bert_tf.checkpoints import (
    ModelDirectory,
    load_pretrained,
    model_garden,
    model_tensors,
    open_checkpoint,
)
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts
from tests.encoders import load_all, make_features
from tests.errors import check_message, rejects
from tests.variants import mark_variants

# The encoder of tf-models-official warns about the positions that its pretrainer passes to it.
pytestmark = [pytest.mark.large, pytest.mark.filterwarnings("ignore:Input dict contained keys")]

SIZES = {
    "vocab_size": 19,
    "hidden_size": 6,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 13,
    "type_vocab_size": 5,
}
CONFIG = BertConfig(**SIZES)
BOTH_ENCODERS = pytest.mark.parametrize(
    "encoder_class",
    mark_variants([networks.BertEncoder, networks.BertEncoderV2], networks.BertEncoderV2),
)


def gelu(x):
    return tf.nn.gelu(x, approximate=True)


@functools.cache
def get_pretrainer(encoder_class):
    """Returns the one pretrainer of tf-models-official with this encoder.

    Each test sets its weights.
    """
    encoder = encoder_class(
        vocab_size=CONFIG.vocab_size,
        hidden_size=CONFIG.hidden_size,
        num_layers=CONFIG.num_hidden_layers,
        num_attention_heads=CONFIG.num_attention_heads,
        inner_dim=CONFIG.intermediate_size,
        inner_activation=gelu,
        max_sequence_length=CONFIG.max_position_embeddings,
        type_vocab_size=CONFIG.type_vocab_size,
        dict_outputs=True,
    )
    encoder(encoder.inputs)
    head = layers.ClassificationHead(
        inner_dim=CONFIG.hidden_size, num_classes=2, name="next_sentence"
    )
    pretrainer = BertPretrainerV2(encoder, mlm_activation=gelu, classification_heads=[head])
    pretrainer(pretrainer.inputs)
    return pretrainer


def get_encoder(encoder_class):
    return get_pretrainer(encoder_class).encoder_network


def randomize(model, seed):
    """Sets all variables so that no bias is zero and no scale is one; returns the model."""
    random = np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(random.normal(0.4, 0.3, variable.shape))
    return model


@pytest.fixture(scope="module")
def features():
    return make_features(CONFIG, (11, 4, 7)) | {
        "masked_lm_positions": tf.constant([[1, 10], [2, 3], [6, 1]])
    }


def assert_same_outputs(ours, theirs, features, names):
    """Asserts equal outputs; `names` is a dict of our name of an output -> theirs."""
    renamed = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    if "masked_lm_logits" not in names:
        features = {
            name: value for name, value in features.items() if name != "masked_lm_positions"
        }
    outputs = ours(features)
    expected = theirs({renamed.get(name, name): value for name, value in features.items()})
    for our_name, their_name in names.items():
        np.testing.assert_allclose(
            outputs[our_name], expected[their_name], rtol=0, atol=2e-5, err_msg=our_name
        )


ENCODER_OUTPUTS = {"sequence_output": "sequence_output", "pooled_output": "pooled_output"}
PRETRAINER_OUTPUTS = {"masked_lm_logits": "mlm_logits", "next_sentence_logits": "next_sentence"}


@BOTH_ENCODERS
@pytest.mark.parametrize("is_encoder", [False, True])
def test_theirs_are_read(encoder_class, is_encoder, features, tmp_path):
    theirs = randomize(
        get_encoder(encoder_class) if is_encoder else get_pretrainer(encoder_class), seed=2
    )
    items = {"encoder": theirs} if is_encoder else theirs.checkpoint_items | {"model": theirs}
    path = tf.train.Checkpoint(**items).save(str(tmp_path / "bert_model.ckpt"))
    ours = load_all((models.BertEncoder if is_encoder else models.BertPretrainer)(CONFIG), path)
    assert_same_outputs(
        ours, theirs, features, ENCODER_OUTPUTS if is_encoder else PRETRAINER_OUTPUTS
    )


@pytest.mark.parametrize(
    "optimizer_class", [tf_keras.optimizers.Adam, tf_keras.optimizers.legacy.Adam]
)
def test_the_state_of_their_optimizer_is_not_read(optimizer_class, tmp_path):
    theirs = randomize(get_encoder(networks.BertEncoder), seed=6)
    optimizer = optimizer_class()
    optimizer.apply_gradients([(tf.ones_like(each), each) for each in theirs.trainable_variables])
    step = tf.Variable(3, name="global_step")
    for name in ("optimizer", "another_name"):
        path = tf.train.Checkpoint(model=theirs, global_step=step, **{name: optimizer}).save(
            str(tmp_path / name)
        )
        ours = models.BertEncoder(CONFIG)
        report = load_pretrained(ours, path)
        assert report.missing == ()
        assert name != "optimizer" or report.unused == ()
    np.testing.assert_array_equal(ours.embeddings.word_embeddings, theirs.get_embedding_table())


@BOTH_ENCODERS
@pytest.mark.parametrize("is_encoder", [False, True])
def test_theirs_restore_ours(encoder_class, is_encoder, features, tmp_path):
    """Their classes restore our files by the items of their pretrainer, and as a whole model."""
    ours = randomize((models.BertEncoder if is_encoder else models.BertPretrainer)(CONFIG), seed=4)
    assert model_garden.write(tmp_path, model_tensors(ours), CONFIG) == ()
    assert BertConfig.from_json_file(tmp_path / "bert_config.json") == CONFIG
    theirs = get_encoder(encoder_class) if is_encoder else get_pretrainer(encoder_class)
    further = {"encoder": theirs} if is_encoder else theirs.checkpoint_items | {"model": theirs}
    for items in ({"model": theirs}, further):
        randomize(theirs, seed=5)
        status = tf.train.Checkpoint(**items).restore(str(tmp_path / "bert_model.ckpt"))
        status.assert_existing_objects_matched()
        assert_same_outputs(
            ours, theirs, features, ENCODER_OUTPUTS if is_encoder else PRETRAINER_OUTPUTS
        )


def test_another_number_of_attention_heads_is_rejected(tmp_path):
    model_garden.write(tmp_path, model_tensors(models.BertEncoder(CONFIG)), CONFIG)
    config = BertConfig(**CONFIG.to_dict() | {"num_attention_heads": 2})
    with rejects(None, "num_attention_heads is 3 in the checkpoint", "2 in the model"):
        load_pretrained(models.BertEncoder(config), str(tmp_path))


def test_two_encoders_are_rejected(tmp_path):
    path = tf.train.Checkpoint(
        left=get_encoder(networks.BertEncoder), right=get_encoder(networks.BertEncoderV2)
    ).save(str(tmp_path / "dual"))
    with pytest.raises(InputError, match="more than once, in two encoders"):
        open_checkpoint(path)


@pytest.fixture(scope="module", params=mark_variants([True, False], True), ids=["mlm", "encoder"])
def exported(request, tmp_path_factory):
    """(directory of a SavedModel as on TF Hub and Kaggle Models, whether it has the masked LM)."""
    folder = tmp_path_factory.mktemp("hub")
    with_mlm = request.param
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmn", ""])
    )
    config = configs.BertConfig(**SIZES, hidden_act="gelu")
    _, model = export_tfhub_lib._create_model(bert_config=config, with_mlm=with_mlm)
    randomize(model, seed=5)
    items = model.checkpoint_items if with_mlm else {"model": model, "encoder": model}
    path = tf.train.Checkpoint(**items).save(str(folder / "ckpt"))
    export_tfhub_lib.export_model(
        str(folder / "bert"),
        bert_config=config,
        model_checkpoint_path=path,
        with_mlm=with_mlm,
        vocab_file=str(folder / "vocab.txt"),
        do_lower_case=not with_mlm,
    )
    return str(folder / "bert"), with_mlm


def test_outputs_equal_those_of_the_saved_model(exported, features):
    folder, with_mlm = exported
    config = ModelDirectory.open(folder).config
    assert config == CONFIG
    model = models.BertPretrainer(config, None)
    report = load_pretrained(model, folder)
    assert report.unused == ()
    assert len(report.missing) == (0 if with_mlm else 5)
    theirs = tf.saved_model.load(folder)
    assert_same_outputs(model.encoder, theirs, features, ENCODER_OUTPUTS)
    if with_mlm:
        assert_same_outputs(model, theirs.mlm, features, {"masked_lm_logits": "mlm_logits"})


@pytest.mark.extra_large
@pytest.mark.parametrize("exported", [False], ids=["encoder"], indirect=True)
def test_fine_tuning_from_a_saved_model(exported, tmp_path, capsys):
    folder, with_mlm = exported
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("text\tlabel\n" + "a B c\tx\nd E f\ty\n" * 4)
    scripts.run_here(
        "run.run_classifier",
        task_name="custom",
        data_dir=tmp_path,
        init_checkpoint=folder,
        do_train=True,
        do_eval=True,
        output_dir=tmp_path / "out",
        max_seq_length=8,
        num_train_epochs=1,
        train_batch_size=4,
    )
    check_message(
        capsys.readouterr().err,
        None,
        f"{folder}/variables/variables",
        "55 variables loaded",
        "not in the checkpoint",
        "output_weights, output_bias",
    )
    assert (
        f'"do_lower_case": {str(not with_mlm).lower()}'
        in (tmp_path / "out" / "task.json").read_text()
    )
