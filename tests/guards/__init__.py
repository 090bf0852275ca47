"""Guards of a refactoring: the behavior that stays the same while the code changes.

The tests in this package check values that do not depend on the machine: the object graphs of models and of training
checkpoints, the sums of weights after three steps, and the number of operations of traced steps and of exports. The
expected values are in `tests/reference/guards/`. The bits of weights depend on the machine, so the following commands
compare two trees on one machine. They run the tree in the current directory. If another tree is installed, set
PYTHONPATH=$PWD.

  python -m tests.guards record FILE              before: writes a digest per case to FILE, and tensors next to it
  python -m tests.guards compare FILE             after: prints a line per case, exits with status 1 on a difference
  python -m tests.guards check                    compares all cases with tests/reference/guards/, on any machine
  python -m tests.guards startup --other=DIR      times the start of five commands in this tree and in another
  python -m tests.guards reference FILE           writes tests/reference/guards/ from a record, after an intended change

`--only=REGEX` selects cases of `cases.CASES` by name, and `--jobs=N` runs N cases at a time. Each case runs a script
with command-line flags and reads the files that it wrote, so that only `model_graphs` imports the project.
"""
