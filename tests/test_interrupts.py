"""Ctrl-C however the tests and the commands are started: in the background it is ignored, as nohup has it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are ignored by what is started on POSIX only")


ANALYSIS = Path(__file__).parents[1] / "analysis"


def run_ignoring(*words):
    """Run Python in a process that was started with Ctrl-C ignored."""

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return subprocess.run([sys.executable, *words], preexec_fn=ignore, capture_output=True, text=True, check=False)


def test_tests_of_ctrl_c_hold_where_it_is_ignored():
    name = "tests/solving/test_ipopt_provider.py::test_an_interrupt_between_callbacks_is_kept"
    done = run_ignoring("-m", "pytest", "-q", "-p", "no:cacheprovider", name)
    assert done.returncode == 0, done.stdout


def test_what_the_tests_start_does_not_ignore_ctrl_c():
    script = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('ignored')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""


def test_a_command_that_is_started_with_ctrl_c_ignored_goes_on_ignoring_it():
    script = (
        "import os, signal\nfrom caet_opt.cli import main\n"
        "main(['table', 'paper-instance-1', '--workers', '2', '--format', 'csv'])\n"
        "os.kill(os.getpid(), signal.SIGINT)\nprint('goes on')"
    )
    done = run_ignoring("-c", script)
    assert done.stdout.endswith("goes on\n"), done.stderr


#: A command whose child would make a file after a second, though its shell is gone.
LATE = "(sleep 1; touch late) & wait"


def clock_code(limit):
    """Python that times this command as analysis/fastest_command.py does."""
    found = f"import sys; sys.path.insert(0, {str(ANALYSIS)!r})\nfrom fastest_command import clock\n"
    return f"{found}print(clock({LATE!r}, {limit}))"


def test_a_command_that_is_cut_off_leaves_nothing_behind(tmp_path):
    told = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    assert subprocess.run([sys.executable, "-c", clock_code(0.2)], **told).stdout == "0.2\n"
    time.sleep(1.5)
    assert not (tmp_path / "late").exists()
    assert subprocess.run([sys.executable, "-c", clock_code(30)], **told).returncode == 0
    assert (tmp_path / "late").exists()


def test_a_command_that_is_interrupted_leaves_nothing_behind(tmp_path):
    code = clock_code(30).replace("print", "print('begun', flush=True)\nprint", 1)
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=-1, stderr=-1) as child:
        assert child.stdout.readline() == b"begun\n"
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in child.communicate()[1]
    time.sleep(1.5)
    assert not (tmp_path / "late").exists()
