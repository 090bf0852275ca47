"""`python -m tests.guards record|compare|startup|reference`: see the package's docstring."""

import argparse
import os
import sys


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.guards")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        command = commands.add_parser(name)
        command.add_argument("file")
        command.add_argument("--only", default="", help="regular expression: cases in whose name it is found")
        command.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tests.guards import digests

    run = digests.record if options.command == "record" else digests.compare
    sys.exit(not run(options.file, options.only, options.jobs))


if __name__ == "__main__":
    main()
