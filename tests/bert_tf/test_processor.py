"""The description of the processor, and the matrix multiplications that TensorFlow uses for it."""

import os

import pytest
from tensorflow.python.framework import test_util

from bert_tf import processor
from bert_tf.cli import script

AMD = "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512_bf16\n\nprocessor\t: 1\nflags : fpu\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd bf16\n"


@pytest.mark.parametrize(("text", "before", "after"), [
    (AMD, None, "1"), (AMD, "0", "0"), (AMD, "1", "1"), (ARM, None, None), ("", None, None)])
def test_onednn_is_enabled_with_avx2(tmp_path, monkeypatch, text, before, after):
    if text:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(processor, "CPU_INFO", str(tmp_path / "cpuinfo"))
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", before or "")  # recorded, to restore it at the end
    if not before:
        monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
    script.prepare_tensorflow()
    assert os.environ.get("TF_ENABLE_ONEDNN_OPTS") == after


def test_tensorflow_uses_onednn():
    if "avx2" not in processor.read()[1]:
        pytest.skip("this CPU has no AVX2")
    assert test_util.IsMklEnabled() == (os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1")
