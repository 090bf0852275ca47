"""`python -m tests.guards record|compare|check|reference|startup`: see the package's docstring."""

import argparse
import os
import sys


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.guards")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare", "check"):
        command = commands.add_parser(name)
        if name != "check":
            command.add_argument("file")
        command.add_argument("--only", default="", help="regular expression: cases in whose name it is found")
        command.add_argument("--jobs", type=int, default=1, help="processes")
    commands.add_parser("reference").add_argument("file", help="that `record` wrote")
    commands.add_parser("startup").add_argument("--other", help="folder of another tree")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tests.guards import digests, startup

    if options.command == "startup":
        return startup.run(options.other)
    if options.command == "reference":
        return digests.write_reference(options.file)
    if options.command == "check":
        return digests.check(options.only, options.jobs)
    return getattr(digests, options.command)(options.file, options.only, options.jobs)


if __name__ == "__main__":
    sys.exit(main() is False)
