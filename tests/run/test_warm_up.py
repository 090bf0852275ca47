"""The last process of `make setup`."""

import pytest

from data_prep.pretraining.instances import sampling
from run.demo import warm_up
from tests import scripts


def test_all_modules_but_scripts_are_compiled():
    names = [*warm_up.find_modules()]
    assert {"bert_tf.config", "bert_tf.serving.model", "run.training.plots"} < {*names}
    others = {"run.run_classifier", "data_prep.create_pretraining_data", "run.demo.__main__"}
    assert others.isdisjoint(names)


@pytest.mark.extra_large
def test_warm_up_is_silent_and_stores_compiled_functions(tmp_path):
    done = scripts.run_python(
        "-m", "run.demo.warm_up", folder=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "numba")
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    names = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert f"sampling.{sampling.sample_pairs.__name__}" in names
