"""Guards of a refactoring: the behavior that stays the same while the code changes.

The tests in this package check values that do not depend on the machine, recorded in
`tests/reference/guards/`: the object graphs of models and of training checkpoints, sums of weights
after three steps, and the number of operations of training steps and of exports. The bits of
weights depend on the machine, so commands compare two trees on one machine. They run the tree in
the current directory. If another tree is installed, set PYTHONPATH=$PWD. This command runs all
cases, and writes their tensors and object graphs:

    python -m tests.guards record DIRECTORY

This command compares two such directories, and exits with status 1 if they differ:

    python -m tests.guards compare BEFORE AFTER

This command writes tests/reference/guards/ after an intended change:

    python -m tests.guards reference

`--only=REGEX` selects cases of `cases.CASES` by name. Each case runs a script with command-line
flags and reads the files that it wrote.
"""
