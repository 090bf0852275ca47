"""Runs the project's scripts as a user does, in processes of their own."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def run_script(module, folder=None, **flags):
    """Runs `python -m module --name=value ...` in `folder`; returns the CompletedProcess, output as text."""
    return subprocess.run(command(module, **flags), cwd=folder, capture_output=True, text=True, check=False,
                          timeout=300)


def command(module, **flags):
    """The command line of a script; a flag with the value None is left out, a tuple gives it several times."""
    arguments = [f"--{name}={each}" for name, value in flags.items() if value is not None
                 for each in (value if isinstance(value, tuple) else (value,))]
    return [sys.executable, "-m", module, *arguments]


def succeed(module, folder=None, **flags):
    """Runs a script that must succeed; returns what it printed on standard output."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def fail(module, folder=None, **flags):
    """Runs a script that must refuse its input; returns the one line that it prints on standard error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr[-3000:]
    return lines[0]


def last_error(module, folder=None, **flags):
    """Runs a script that must refuse its input after some progress was shown; returns its last line of error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]
