"""What every executed page begins with: figures as SVG, and cells of commands that print once, and must succeed."""

import os
import subprocess

from IPython import get_ipython


def run_commands(line: str, cell: str) -> None:
    """Run a cell in bash; a command that fails ends it, and the build, unless its status is the one in the line."""
    plain = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # as in a terminal
    done = subprocess.run(["bash", "-eu", "-c", cell], capture_output=True, text=True, check=False, env=plain)
    if done.returncode != int(line or 0):
        raise RuntimeError(f"exit status {done.returncode}: {done.stdout}{done.stderr}")
    print(done.stdout if done.returncode == 0 else done.stdout + done.stderr, end="")


shell = get_ipython()
shell.register_magic_function(run_commands, "cell", "shell")
shell.run_line_magic("matplotlib", "inline")
shell.run_line_magic("config", "InlineBackend.figure_formats = ['svg']")
