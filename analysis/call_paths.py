"""What one call passes through: python analysis/call_paths.py [--path NAME] [--files]

Follows real calls of the library, interpreted, and counts the functions and files on the way, and the calls from one
file or room to another. With --files it lists the files in the order in which they are first entered, with the
functions called in each and what it is for, as the site does on its page about one call.
"""

import argparse
import sys

from cases.calls import PATHS, follow, purpose, room_of


def main() -> int:
    """Print the table, and the files of a path where they are asked for."""
    parser = argparse.ArgumentParser(description="What one call passes through.")
    parser.add_argument("--path", choices=PATHS, help="this one alone")
    parser.add_argument("--files", action="store_true", help="list the files and functions")
    arguments = parser.parse_args()
    print(f"{'path':<22} functions  files  calls across files  across rooms")
    for name in [arguments.path] if arguments.path else PATHS:
        trace = follow(name)
        found = trace.functions()
        functions = sum(map(len, found.values()))
        across = trace.across(str), trace.across(room_of)
        print(f"{name:<22} {functions:>9}  {len(found):>5}  {across[0]:>18}  {across[1]:>12}")
        if arguments.files:
            for file, names in found.items():
                print(f"    {file}: {', '.join(names)}\n        {purpose(file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
