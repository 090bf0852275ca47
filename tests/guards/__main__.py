"""`python -m tests.guards record|compare|reference`: see the package's docstring."""

import argparse
import os
import pathlib
import sys


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.guards")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record")
    command.add_argument("directory", type=pathlib.Path)
    command.add_argument("--only", default="", help="regular expression for names of cases")
    command = commands.add_parser("compare")
    command.add_argument("before", type=pathlib.Path)
    command.add_argument("after", type=pathlib.Path)
    commands.add_parser("reference")
    options = vars(parser.parse_args())
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tests.guards import digests, reference

    functions = {"record": digests.record, "compare": digests.compare, "reference": reference.write}
    return functions[options.pop("command")](**options)


if __name__ == "__main__":
    sys.exit(main() is False)
