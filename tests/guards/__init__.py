"""Guards of a refactoring: what must stay the same while the code that does it changes.

The tests here hold what every machine computes alike: the object graphs of models and of training checkpoints, the
sums of weights after three steps, and how many operations traced steps and exports have (`tests/reference/guards/`).
Bits depend on the machine, so commands compare two trees on one. They run the tree of the current directory, which
needs PYTHONPATH=$PWD where another tree is installed:

  python -m tests.guards record FILE              in the tree before: each case's digest to FILE, tensors beside it
  python -m tests.guards compare FILE             in the tree after: a line a case, exit status 1 on a difference
  python -m tests.guards startup --other=FOLDER   how long commands take to start in this tree and in another
  python -m tests.guards check                    all cases beside tests/reference/guards/, on any machine
  python -m tests.guards reference FILE           writes that folder again from a record, after a change that was meant

`--only=REGEX` chooses cases of `cases.CASES` by name, `--jobs=N` runs as many at a time. Cases run the scripts with
command-line flags alone, and read what they wrote: nothing here knows the project's inside.
"""
