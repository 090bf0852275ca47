"""`python -m tests.guards record|compare|reference`: see the package's docstring."""

import argparse
import os
import pathlib
import sys


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.guards")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        command = commands.add_parser(name)
        command.add_argument("file", type=pathlib.Path)
        command.add_argument("--only", default="", help="regular expression for names of cases")
    commands.add_parser("reference")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tests.guards import digests, reference

    if options.command == "reference":
        return reference.write()
    return getattr(digests, options.command)(options.file, options.only)


if __name__ == "__main__":
    sys.exit(main() is False)
