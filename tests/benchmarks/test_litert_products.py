"""The matmuls with which benchmarks.litert compares an encoder."""

import numpy as np
import pytest

from benchmarks import litert
from bert_tf.config import BertConfig
from bert_tf.litert.compiled_graphs import CompiledGraphs

pytestmark = pytest.mark.large

TOY = BertConfig(70, hidden_size=8, num_hidden_layers=1, num_attention_heads=4, intermediate_size=12)


def test_int8_matmuls_of_an_encoder(tmp_path):
    products = litert.Products(TOY)
    assert products.operations == 2 * (8 * 24 + 8 * 8 + 8 * 12 + 12 * 8)
    rows = np.random.default_rng(0).normal(size=[5, 8]).astype(np.float32)
    litert.write_products(products, [3, 5], tmp_path)
    int8 = CompiledGraphs(str(tmp_path / litert.PRODUCTS_FILE), 1).run("5", {"rows": rows})["rows"]
    np.testing.assert_allclose(int8, products(rows)["rows"], atol=0.05)
