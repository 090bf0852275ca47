"""SavedModels as on TF Hub and Kaggle Models, written by tf-models-official's own export; outputs equal within 2e-5."""

import numpy as np
import pytest
import tensorflow as tf
from official.legacy.bert import configs
from official.nlp.tools import export_tfhub_lib

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.model_folder import find_config, read_config
from tests import scripts
from tests.encoders import make_features

pytestmark = pytest.mark.filterwarnings("ignore:Input dict contained keys")

SIZES = {"vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7,
         "max_position_embeddings": 13, "type_vocab_size": 5}
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmn")


@pytest.fixture(scope="module")
def vocab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in PIECES))
    return str(path)


@pytest.fixture(scope="module", params=[True, False], ids=["mlm", "encoder"])
def exported(request, tmp_path_factory, vocab_file):
    """(directory of a SavedModel with random weights, with or without the masked LM; whether it has one)."""
    folder, with_mlm = str(tmp_path_factory.mktemp("hub") / "bert_en_uncased_L-2_H-12_A-3_4"), request.param
    config = configs.BertConfig(**SIZES, hidden_act="gelu")
    _, model = export_tfhub_lib._create_model(bert_config=config, with_mlm=with_mlm)
    random = np.random.default_rng(5)
    for variable in model.variables:
        variable.assign(random.normal(0.4, 0.3, variable.shape))
    items = model.checkpoint_items if with_mlm else {"model": model, "encoder": model}
    path = tf.train.Checkpoint(**items).save(str(tmp_path_factory.mktemp("checkpoint") / "ckpt"))
    export_tfhub_lib.export_model(folder, bert_config=config, model_checkpoint_path=path, with_mlm=with_mlm,
                                  vocab_file=vocab_file, do_lower_case=not with_mlm)
    return folder, with_mlm


@pytest.mark.large
def test_outputs_equal_those_of_the_saved_model(exported):
    folder, with_mlm = exported
    config = read_config(find_config(folder))
    assert config == BertConfig(**SIZES)
    model = models.BertPretrainer(config, None)
    report = load_pretrained(model, folder)
    assert report.unused == ()
    assert len(report.missing) == (0 if with_mlm else 5)

    features = make_features(config, (11, 4, 7))
    inputs = dict(zip(("input_word_ids", "input_mask", "input_type_ids"), features.values(), strict=True))
    positions, is_token = tf.constant([[3, 1], [0, 2], [6, 5]]), features["input_mask"] > 0
    theirs, ours = tf.saved_model.load(folder), model.encoder(features)
    expected = theirs(inputs)
    np.testing.assert_allclose(ours["pooled_output"], expected["pooled_output"], rtol=0, atol=2e-5)
    np.testing.assert_allclose(ours["sequence_output"][is_token], expected["sequence_output"][is_token],
                               rtol=0, atol=2e-5)
    if with_mlm:
        logits = theirs.mlm(inputs | {"masked_lm_positions": positions})["mlm_logits"]
        features["masked_lm_positions"] = positions
        np.testing.assert_allclose(model(features)["masked_lm_logits"], logits, rtol=0, atol=2e-5)


@pytest.mark.extra_large
@pytest.mark.parametrize("exported", [False], ids=["encoder"], indirect=True)
def test_fine_tuning_from_the_directory(exported, tmp_path, capsys):
    folder, with_mlm = exported
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("text\tlabel\n" + "a B c\tx\nd E f\ty\n" * 4)
    scripts.run_here("run.run_classifier", task_name="custom", data_dir=tmp_path, init_checkpoint=folder, do_train=True,
                     do_eval=True, output_dir=tmp_path / "out", max_seq_length=8, num_train_epochs=1,
                     train_batch_size=4)
    assert (f"{folder}/variables/variables: 31 variables loaded; not in the checkpoint, initial values kept: "
            "output_weights, output_bias") in capsys.readouterr().err
    assert f'"do_lower_case": {str(not with_mlm).lower()}' in (tmp_path / "out" / "task.json").read_text()
