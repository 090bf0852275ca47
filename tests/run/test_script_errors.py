"""Every script: `--help` lists the script's own flags, and an error is one line with exit status 1.

Rejections are tested in process: those of settings in test_script_settings, others at the function
that raises them.
"""

import importlib
import re
import subprocess
import sys

import pytest

from bert_tf.cli import commands
from tests import scripts

pytestmark = pytest.mark.large

MODULES = [module for group in commands.SCRIPTS.values() for module in group]
DEMO = "run.demo"  # The only script that requires no flags.


@pytest.mark.parametrize("module", MODULES)
def test_an_error_is_one_line(module, tmp_path):
    flags = {"num_train_steps": 0} if module == DEMO else {}
    message = "--num_train_steps=0: must be" if flags else " is required"
    name, _, error = scripts.fail(module, tmp_path, **flags).partition(": ")
    assert name == ("__main__.py" if module == DEMO else f"{module.rpartition('.')[2]}.py")
    assert message in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.extra_large
@pytest.mark.parametrize("module", MODULES)
def test_help_lists_the_flags_of_the_script(module, tmp_path):
    """The script is run by its path, outside of the repository."""
    name = "run.demo.__main__" if module == DEMO else module
    done = subprocess.run(
        [sys.executable, scripts.ROOT / f"{name.replace('.', '/')}.py", "--helpfull"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with scripts.defined(importlib.import_module(name)) as flags:
        names = set(flags)
    assert names == set(re.findall(r"^  --(?:\[no\])?(\w+):", done.stdout, re.MULTILINE))
