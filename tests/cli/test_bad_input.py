"""Bad input on the command line: one line that says what is wrong, exit status 2, no traceback."""

import os
import subprocess
import sys

import pytest
from commands import check_refusal, expect_refusal

from caet_opt.cli import main
from caet_opt.solving.backends.ipopt import Ipopt

#: Files that the rows below name, by their contents.
FILES = {
    "good.toml": b'family = "gaussian"\nmeans = [3, 4, 2]\ncosts = "gaps"\ntask = "ranking"\n',
    "broken.toml": b'family = "gaussian"\nmeans = [3, 4, 2\ncosts = "gaps"\n',
    "key.toml": b'family = "gaussian"\nmeen = [3, 4]\nmeans = [3, 4]\ncosts = "gaps"\ntask = "ranking"\n',
    "latin.toml": b'title = "caf\xe9"\n',
    "no-means.toml": b'family = "gaussian"\ncosts = [3, 4]\ntask = "ranking"\n',
    "no-task.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\n',
    "word.toml": b'family = "gaussian"\nmeans = "3, 4"\ncosts = [1, 1]\ntask = "ranking"\n',
    "bool.toml": b'family = "gaussian"\nmeans = [true, 4]\ncosts = [1, 1]\ntask = "ranking"\n',
    "huge.toml": b'family = "gaussian"\nmeans = [1' + 400 * b"0" + b', 4]\ncosts = [1, 1]\ntask = "ranking"\n',
    "huger.toml": b"means = [1" + 5000 * b"0" + b"]\n",
    "deep.toml": b"means = " + 100000 * b"[",
    "title.toml": b'title = 3\nfamily = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\ntask = "ranking"\n',
    "names.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\ntask = "ranking"\narms = "a, b"\n',
    "uncovered.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\nanswers = [[[0, 1]]]\n',
    "twice.toml": b'family = "gaussian"\nmeans = [3, 4, 2]\ncosts = [1, 1, 1]\n'
    b"answers = [[[0, 1]], [[1, 0]], [[0, 2]]]\n",
    "cycle.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\nanswers = [[[0, 1], [1, 0]]]\n',
    "pair.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\nanswers = [[[0, 1, 2]]]\n',
    "flat.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\nanswers = [0, 1]\n',
    "both.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\ntask = "ranking"\n'
    b"answers = [[[0, 1]], [[1, 0]]]\n",
    "expected.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\ntask = "ranking"\n'
    b"sampling_proportions = [1.0]\n",
    "time.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\ntask = "ranking"\ncharacteristic_time = -1\n',
    "profile-key.toml": b'backend = "clarabel"\ntolerence = 1e-9\n',
    "profile-backend.toml": b'backend = "clarable"\n',
    "profile-list.toml": b'backend = ["clarabel"]\n',
    "profile-none.toml": b"tolerance = 1e-9\n",
    "profile-limit.toml": b'backend = "clarabel"\nmax_iterations = 0\n',
    "profile-option.toml": b'backend = "clarabel"\n[options]\ntol_gapp = 1e-9\n',
    "profile-range.toml": b'backend = "clarabel"\n[options]\nmax_iter = -1\n',
    "profile-word.toml": b'backend = "clarabel"\n[options]\ndirect_solve_method = "x"\n',
    "profile-cvxpy.toml": b'backend = "clarabel"\n[options]\nrequires_grad = true\n',
    "profile-ipopt.toml": b'backend = "ipopt"\n[options]\ntol = -1.0\n',
    "profile-native.toml": b'backend = "native"\n[options]\ntol = 1e-9\n',
    "profile-fallback.toml": b'backend = "clarabel"\nfallback = []\n',
    "profile-huge.toml": b'backend = "clarabel"\nmax_iterations = 99999999999\n',
    "profile-time.toml": b'backend = "clarabel"\ntime_limit = 1' + 400 * b"0" + b"\n",
    "nothing.toml": b'family = "gaussian"\nmeans = [3, 4]\ncosts = [1, 1]\nanswers = [[]]\n',
    "direction.toml": b'family = "gaussian"\nmeans = [3, 4]\nlower_is_better = "yes"\ntask = "best-arm"\n',
    "undirected.toml": b'family = "gaussian"\nmeans = [3, 4]\ntask = "best-arm (lower is better)"\n',
    "margins.toml": b'family = "gaussian"\nmeans = [3, 4]\nanswers = [["0 > 1 + 0.5"], ["0 < 1 + 0.7"]]\n',
    "untold.toml": b'family = "gaussian"\nmeans = [3, 4]\nanswers = [["0 > 1 + 0.5"], ["0 < 1 - 2"]]\n',
    "unread.toml": b'family = "gaussian"\nmeans = [3, 4]\nanswers = [["0 >= 1"], ["0 < 1"]]\n',
    "wide.toml": f'family = "gaussian"\nmeans = {list(range(2000))}\ncosts = {[1] * 2000}\n'.encode()
    + b'task = "top-arms:1000"\n',
}


def flags(family="gaussian", means="3,4,2", costs="1,1,1", task="ranking", more=""):
    """The four model flags of a good model, some of them replaced, and further words."""
    return f"solve --family {family} --means {means} --costs {costs} --task {task} {more}"


def rates(task, more=""):
    """Three Bernoulli arms, and a task."""
    return flags("bernoulli", "0.8,0.7,0.6", "3,2,1", task, more)


LEVEL = "needs a level, for example above:0.8 or above:-1e-3"
ENDS = "must be between 0 and 1, the ends of the bernoulli means; otherwise there is nothing to find out"
FORM = "write ARM, ARM+NUMBER, ARM-NUMBER or ARM*NUMBER, arms by number"
LARGE = "is as large as the difference of any two of the means of the bernoulli family, which are in [0, 1]"
RATIOS = "ratios of means are for exponential, gamma and poisson rewards, not for"

#: Levels, margins, ratios, and the lower mean.
STATED = [
    (rates("above"), f"task 'above:' {LEVEL}"),
    (rates("above:high"), f"task 'above:high' {LEVEL}"),
    (rates("above:nan"), f"task 'above:nan' {LEVEL}"),
    (rates("above:inf"), f"task 'above:inf' {LEVEL}"),
    (rates("above:0x10"), f"task 'above:0x10' {LEVEL}"),
    (rates("above:0.5,0.6"), f"task 'above:0.5,0.6' {LEVEL}"),
    (rates("above:1e-400"), "task 'above:1e-400': the level must be a finite number that fits double precision"),
    (rates("above:1.2"), f"task 'above:1.2': level 1.2 {ENDS}"),
    (rates("above:0"), f"level 0 {ENDS}"),
    (rates("cheapest:above:-0.5"), f"level -0.5 {ENDS}"),
    (flags("poisson", task="above:-1"), "level -1 must be between 0 and inf, the ends of the poisson means"),
    (rates("above:0.7"), "equals 0.7, which task 'above:0.7' asks about, so T* is infinite"),
    (rates("above:0.5~0.1"), "task 'above:0.5' has one right answer; a tolerance (~) is for best-arm, top-arms"),
    (rates("control:0~0.1"), "task 'control:0' has one right answer"),
    (rates("cheapest:above:0.5~0.1"), "task 'cheapest:above:0.5' has one right answer"),
    (rates("best-arm~1"), "task 'best-arm~1': tolerance 1 is as large as the difference of any two"),
    (rates("best-arm~-0.1"), "task 'best-arm~-0.1': a tolerance is a number without sign"),
    (rates("best-arm~nan"), "a tolerance is a number without sign, for example best-arm~0.05"),
    (rates("best-arm~"), "a tolerance is a number without sign"),
    (rates("best-arm~1e-400"), "task 'best-arm~': the tolerance must be a finite number that fits double precision"),
    (rates("best-arm~0.1~0.1"), "task 'best-arm~0.1~0.1': a tolerance (~) ends the whole task, once"),
    (flags("poisson", task="comparisons:0-1*1.1~0.1"), "has a ratio, so it cannot have a tolerance"),
    (rates("best-arm~0.2") + " --digits 20", "may have several right answers, and digits can be proven for one"),
    (rates("control:0+x"), f"task 'control:0+x': {FORM}"),
    (rates("control:0+"), f"task 'control:0+': {FORM}"),
    (rates("control:0+nan"), FORM),
    (rates("control:0--0.1"), FORM),
    (rates("control:0+0.1+0.1"), FORM),
    (rates("control:0+1e-400"), "the margin must be a finite number that fits double precision"),
    (rates("control:0+1"), f"task 'control:0+1': margin 1 {LARGE}"),
    (rates("control:0-1.5"), f"margin -1.5 {LARGE}"),
    (rates("control:7+0.1"), "task 'control:7+0.1' names arm 7, but the model has arms 0 to 2"),
    (rates("control:old+0.1", "--arms new other third"), "unknown arm 'old'; known: new, other, third"),
    (rates("control:0-0.1"), "0 equals 1 + 0.1, which task 'control:0-0.1' asks about, so T* is infinite"),
    (rates("control:0*1.1"), f"{RATIOS} bernoulli; give a margin"),
    (flags(task="control:0*1.1"), f"{RATIOS} gaussian; give a margin"),
    (flags("geometric", task="comparisons:0-1*1.1"), f"{RATIOS} geometric; give a margin"),
    (flags("poisson", task="control:0*0"), "the ratio must be above 0, got 0"),
    (
        rates("comparisons:gpt-4-4", "--arms gpt gpt-4 4"),
        'can be read as comparisons:"gpt"-"4"-4 and as comparisons:"gpt-4"-"4"; write one of these',
    ),
    (
        rates("control:1-0.02", "--arms 1 2 0"),
        'can be read as control:"1"-0.02 and as control:"2"-0.02; write one of these',
    ),
    (flags(task="cheapest"), "write cheapest:above:LEVEL or cheapest:control:ARM-MARGIN"),
    (flags(task="cheapest:best-arm"), "write cheapest:above:LEVEL or cheapest:control:ARM-MARGIN"),
    (flags(task="cheapest:control:9"), "task 'control:9' names arm 9, but the model has arms 0 to 2"),
    (flags(task="cheapest:above:2.5", costs="gaps"), "needs known costs, and gaps depend on the means"),
    (rates("cheapest:control:2-0.1"), "arm 2 is the cheapest and qualifies whatever the means are"),
    (rates("comparisons:0-1+0.1,1-0-0.1"), "lists the pair 1-0 twice"),
    (rates("comparisons:0-0+0.1"), "compares arm 0 with itself"),
    (rates("comparisons:0+0.1"), "write each pair as A-B, got '0+0.1'"),
    ("solve {good.toml} --lower-is-better", "give a model file or --lower-is-better, not both"),
    ("solve {direction.toml}", "direction.toml: 'lower_is_better' must be true or false, got 'yes'"),
    (
        "solve {undirected.toml}",
        "does not say that lower means are better, but the task is best-arm (lower is better); make both say the same",
    ),
    ("solve {margins.toml}", "answers 0 and 1 can be right for the same means"),
    ("solve {untold.toml}", "no answer covers the means 3, 4"),
    ("solve {unread.toml}", "a statement is written as [0, 1], '0 > 1 + 0.02'"),
    ("curve {good.toml} --sweep margin --from 0 --to 1", "task 'ranking' has no margin"),
    ("curve {good.toml} --task above:2.5 --sweep margin --from 0 --to 1", "task 'above:2.5' has no margin"),
    ("thresholds {good.toml} --task above:x --delta 0.1", LEVEL),
    ("simulate {good.toml} --task above:x --delta 0.1", LEVEL),
    ("plan {good.toml} --task control:0+x --delta 0.1", FORM),
]

#: Command line (files in braces), and a part of the message.
ROWS = [
    *STATED,
    # numbers
    (flags(means="nan,4,2"), "--means must be numbers such as 3,4,2, got 'nan': numbers are written as 12.5 or 1e-3"),
    (flags(means="3,inf,2"), "got 'inf': numbers are written as 12.5 or 1e-3"),
    (flags(means="3,-inf,2"), "got '-inf': numbers are written as 12.5 or 1e-3"),
    (flags(means="3,x,2"), "--means must be numbers such as 3,4,2, got 'x'"),
    (flags(means="3,,2"), "--means must be numbers such as 3,4,2, got ''"),
    (flags(means="3", costs="1"), "needs at least two arms, got 1"),
    (flags(costs="1,nan,1"), "--costs must be numbers such as 3,4,2 or 'gaps', got 'nan'"),
    (flags(costs="1,1,inf"), "--costs must be numbers such as 3,4,2 or 'gaps', got 'inf'"),
    (flags(costs="1,-2,1"), "cost -2 of arm 1 is negative; costs are zero or more"),
    (flags(costs="-2 1 1"), "cost -2 of arm 0 is negative"),
    (flags(costs="1,1"), "2 costs for 3 means; give one cost per arm"),
    (flags(costs="gap"), "or 'gaps', got 'gap'"),
    (flags(means="1e200,1,0"), "outside double precision"),
    # families
    (flags(family="bernouli"), "unknown family 'bernouli'; did you mean 'bernoulli'?"),
    (flags(family="cauchy-lorentz"), "known: bernoulli, bounded, exponential"),
    (flags(family="bernoulli", means="0.5,1.2,0.1"), "mean 1.2 of arm 1 is outside the bernoulli family"),
    (flags(family="poisson", means="1,-1,2"), "mean -1 of arm 1 is outside the poisson family"),
    (flags(family="exponential", means="1,0,2"), "whose means lie in (0, inf)"),
    (flags(family="gamma:2", means="0,1,2"), "mean 0 of arm 0 is outside the gamma family"),
    (flags(family="geometric", means="-0.1,1,2"), "mean -0.1 of arm 0 is outside the geometric family"),
    (flags(family="bernoulli:0.5", means="0.5,0.2,0.1"), "family 'bernoulli' takes no parameter, got '0.5'"),
    (flags(family="gamma"), "gamma:SHAPE, for example gamma:2.5"),
    (flags(family="gamma:-1"), "must be positive and finite, got -1"),
    (flags(family="gamma:1,2"), "takes one shape"),
    (flags(family="gaussian:1,2"), "2 variances for 3 arms; give one, or one per arm"),
    (flags(family="gaussian:0"), "variances must be positive and finite, got 0"),
    (flags(family="gaussian:x"), "variances must be numbers separated by commas, got 'x'"),
    (flags(family="gaussian:sNaN"), "variances must be numbers"),
    (flags(family="gamma:sNaN"), "the shape of a gamma family must be numbers"),
    (flags(family="gamma:1e-320"), "the inverse of the shape of a gamma family must be positive and finite"),
    # tasks
    (flags(task="rankng"), "unknown task 'rankng'; did you mean 'ranking'?"),
    (flags(task="ranking:2"), "task 'ranking' takes no parameter"),
    (flags(means="3,3,2"), "arms 0 and 1 have equal means (3)"),
    (flags(means="3,3,2", more="--arms a,b,c"), "arms 0 (a) and 1 (b) have equal means"),
    (flags(task="top-arms:0"), "needs M at least 1, got 0"),
    (flags(task="top-arms:3"), "top-arms:3 needs more than 3 arms, got 3; M must be from 1 to 2"),
    (flags(task="top-arms:two"), "needs a whole number: top-arms:M, got 'two'"),
    (flags(task="groups"), "for example groups:0,1/2,3,4"),
    (flags(task="groups:0,1/1,2"), "arm 1 occurs twice; groups must be disjoint"),
    (flags(task="groups:0,1/2"), "every group needs at least two arms"),
    (flags(task="groups:0,5"), "names arm 5, but the model has arms 0 to 2"),
    (flags(task="control"), "for example control:0"),
    (flags(task="control:3"), "names arm 3, but the model has arms 0 to 2"),
    (flags(task="control:x"), "arms are numbers counted from 0, got 'x'"),
    (flags(task="comparisons:1-1"), "compares arm 1 with itself"),
    (flags(task="comparisons:0+1"), "write each pair as A-B, got '0+1'"),
    (flags(task="comparisons:0-1,1-0"), "lists the pair 1-0 twice"),
    (flags(task="custom"), "a custom task is given in a TOML file by its answers"),
    # usage
    ("", "no command given; use one of: solve"),
    ("slove", "unknown command 'slove'; did you mean 'solve'?"),
    ("solve", "give --family, --means and --task, and --costs unless all are 1"),
    (
        "solve --family gaussian --means 3,4",
        "missing --task; a model without a file needs --family, --means and --task",
    ),
    (
        "solve --family gaussian --means --costs gaps --task ranking",
        "--means: expected at least one argument",
    ),
    ("solve --family gaussian --means= --costs gaps --task ranking", "--means is empty"),
    (flags(more="--jsn"), "unknown option '--jsn'; did you mean '--json'?"),
    ("solve --mean=3,4", "unknown option '--mean'; did you mean '--means'?"),
    ("simulate {good.toml} --delta 0.1 --gamm0 1", "unknown option '--gamm0'; did you mean '--gamma0'?"),
    ("--versoin", "unknown option '--versoin'; did you mean '--version'?"),
    ("solve {good.toml} {key.toml}", "unexpected argument"),
    ("solve {good.toml} --means 1,2", "give a model file or --means, not both"),
    ("solve {good.toml} --arms a,b,c", "give a model file or --arms, not both"),
    ("solve {good.toml} --task top-arms:7", "top-arms:7 needs more than 7 arms, got 3; M must be from 1 to 2"),
    (flags(more="--arms a,b"), "2 arm names for 3 means; give one name per arm"),
    (flags(more="--arms a,a,b"), "arm names must differ"),
    (flags(more="--delta 0"), "--delta must lie strictly between 0 and 1, got 0"),
    (flags(more="--delta 1.5"), "strictly between 0 and 1, got 1.5"),
    (flags(more="--delta nan"), "--delta: must be a number, got 'nan': numbers are written as 12.5 or 1e-3"),
    (flags(more="--delta small"), "--delta: must be a number, got 'small'"),
    (flags(more="--delta 1_0e-3"), "--delta: must be a number, got '1_0e-3': numbers are written as 12.5 or 1e-3"),
    (flags(more="--delta 1e-400"), "--delta: must be a number, got '1e-400': it is too close to zero"),
    (flags(more="--delta \u0661"), "must be a number, got '\u0661'"),
    (flags(more="--tolerance 0x1p-4"), "must be a number, got '0x1p-4'"),
    (flags(more="--tolerance infinity"), "must be a number, got 'infinity'"),
    (flags(more="--digits 1_0"), "--digits: must be a positive whole number, got '1_0'"),
    (flags(more="--digits \u0661"), "--digits: must be a positive whole number"),
    (flags(means="1_0,4,2"), "--means must be numbers such as 3,4,2, got '1_0'"),
    (flags(means="\u0663,4,2"), "--means must be numbers such as 3,4,2, got '\u0663'"),
    (flags(costs="1,1_0,2"), "--costs must be numbers such as 3,4,2 or 'gaps', got '1_0'"),
    (flags(family="gaussian:1_0"), "variances must be numbers separated by commas, got '1_0'"),
    (flags(family="gamma:\u0662"), "the shape of a gamma family must be numbers"),
    (flags(task="top-arms:\u0661"), "needs a whole number: top-arms:M, got '\u0661'"),
    (flags(task="top-arms:" + "9" * 5000), "needs a whole number: top-arms:M, got '9999"),
    (flags(task="control:1_0"), "arms are numbers counted from 0"),
    (flags(task="control:" + "9" * 5000), "got '9999999999999999999999999999999999999999...'"),
    (flags(task="groups:0,1/2,\u0663"), "arms are numbers counted from 0"),
    ("simulate {good.toml} --delta 0.1 --solve lazy:1_0", "solve must be exact, lazy, or lazy:GAP"),
    ("simulate {good.toml} --delta 0.1 --batch growing:\u0661", "batch must be a whole number"),
    ("simulate {good.toml} --delta 0.1 --theta 1_2", "--theta: must be a number, got '1_2'"),
    ("curve {good.toml} --sweep mean:\u0661 --from 0 --to 1", "unknown arm '\u0661'"),
    ("curve {good.toml} --sweep mean:" + "9" * 5000 + " --from 0 --to 1", "unknown arm '9999"),
    ("curve {good.toml} --sweep mean:0 --from 1_0 --to 20", "--from: must be a number, got '1_0'"),
    ("table {good.toml} --delta 0.1,1e-400", "--delta must lie strictly between 0 and 1"),
    # what never ends, and what is no text
    ("solve /dev/zero", "/dev/zero: has more than 32 MB; name a smaller file"),
    ("sweep /dev/full --dry-run", "/dev/full: has more than 32 MB; name a smaller file"),
    ("solve {good.toml} --solver {endless.toml}", "endless.toml: has more than 32 MB"),
    ("check /dev/zero", "/dev/zero: not a certificate (more than 16000000 bytes"),
    ("report {folder} --title \udcff", "--title: must be text, got '\\udcff'"),
    ("table {good.toml} --caption a\udc80", "--caption: must be text"),
    (flags(more="--arms a b \udcff"), "--arms: must be text"),
    (flags(more="--json --show-program"), "give one of them"),
    (flags(more="--cross-check --solver ipopt"), "leave out --solver"),
    (flags(more="--cross-check --delta 0.1"), "leave out --delta"),
    (flags(more="--cross-check --log-inv-delta 3"), "leave out --delta"),
    (flags(more="--delta 0.1 --log-inv-delta 3"), "give either --delta, as 0.05, or --log-inv-delta, as 3"),
    (flags(more="--log-inv-delta -1"), "--log-inv-delta = log(1/delta) must be positive and finite"),
    (
        flags(costs="1e300,1e300,1", task="comparisons:0-1", more="--log-inv-delta 1e99 --json"),
        "outside double precision; rescale the costs",
    ),
    ("simulate {good.toml} --delta 0.1 --zero-cost-share 2", "--zero-cost-share must"),
    ("simulate {good.toml} --delta 0.1 --max-rounds 0", "--max-rounds must be a positive whole number, got 0"),
    ("thresholds {good.toml}", "give either --delta, as 0.05, or --log-inv-delta, as 3"),
    ("thresholds {good.toml} --delta 1", "--delta must lie strictly between 0 and 1, got 1"),
    ("thresholds --delta 0.1", "no model given"),
    # solvers
    (flags(more="--solver clarable"), "unknown solver 'clarable'; did you mean 'clarabel'?"),
    (flags(more="--tolerance 0"), "tolerance must be a positive number, got 0\n"),
    (flags(more="--tolerance -1"), "tolerance must be a positive number, got -1\n"),
    (flags(more="--tolerance 2"), "tolerance is a relative gap below 1, got 2"),
    (flags(more="--tolerance tiny"), "--tolerance: must be a number, got 'tiny'"),
    (flags(more="--solver {missing.toml}"), "missing.toml: no such file"),
    (flags(more="--solver {profile-key.toml}"), "unknown key 'tolerence'; did you mean 'tolerance'?"),
    (flags(more="--solver {profile-backend.toml}"), "profile-backend.toml: unknown solver 'clarable'"),
    (flags(more="--solver {profile-list.toml}"), "profile-list.toml: unknown solver"),
    (flags(more="--solver {profile-none.toml}"), "a solver profile needs the key 'backend'"),
    (flags(more="--solver {profile-limit.toml}"), "max_iterations must be a positive whole number, got 0"),
    (flags(more="--solver {profile-option.toml}"), "tol_gapp"),
    (flags(more="--solver {profile-range.toml}"), "Clarabel does not take the option max_iter = -1"),
    (flags(more="--solver {profile-word.toml}"), 'Bad value for field "direct_solve_method"'),
    (flags(more="--solver {profile-cvxpy.toml}"), "Clarabel: unknown option 'requires_grad'"),
    (flags(more="--solver {profile-native.toml}"), "solver 'native' has no options of its own, got 'tol'"),
    (flags(more="--solver {profile-fallback.toml}"), "unknown solver '[]'"),
    (flags(more="--solver {profile-huge.toml}"), "max_iterations must be at most 1000000000, got 99999999999"),
    (flags(more="--solver {profile-time.toml}"), "time_limit must be a positive number"),
    # sizes
    ("solve {wide.toml}", "the task has 1000000 pairs of arms to compare; up to 250000 are solved in reasonable time"),
    ("solve {nothing.toml}", "the answers of the custom task compare no arms"),
    ("simulate {good.toml} --delta 0.1 --workers 99999", "--workers: must be at most"),
    ("table {good.toml} --workers 99999", "one per core is enough"),
    ("verify --workers 99999", "one per core is enough"),
    ("sweep {good.toml} --workers 99999", "one per core is enough"),
    ("reproduce regret --workers 99999", "one per core is enough"),
    ("simulate {good.toml} --delta 0.1 --runs 9999999999", "--runs: must be at most 1000000000, got 9999999999"),
    # output files
    ("simulate {good.toml} --delta 0.1 --csv {folder}", "--csv"),
    ("compare {good.toml} --solvers native --csv nowhere/rows.csv", "cannot be written (No such file or directory)"),
    # proven digits and certificates
    (flags(more="--digits 0"), "--digits: must be a positive whole number, got '0'"),
    (flags(more="--digits many"), "--digits: must be a positive whole number, got 'many'"),
    (flags(more="--digits 1001"), "digits must be a whole number from 1 to 1000, got 1001"),
    (flags(more="--digits 10 --cross-check"), "--cross-check proves no digits; leave out --digits"),
    (flags(more="--certificate {folder}"), "is a folder; name a file"),
    (flags(more="--certificate nowhere/cert.json"), "cannot be written (No such file or directory)"),
    (
        flags(means="1,1.00000000000000000001,0", more="--digits 30"),
        "differ (1 and 1.00000000000000000001), but not in double precision",
    ),
    (flags(means="1e-400,4,2"), "means must be zero or fit double precision, got 1E-400"),
    (flags(means="1e99999999999999999999,4,2"), "--means must be numbers such as 3,4,2"),
    (flags(means="snan,4,2"), "means must be numbers"),
    ("check", "the following arguments are required: CERT.json"),
    ("check {missing.toml}", "missing.toml: no such file"),
    ("check {folder}", "cannot be read (Is a directory)"),
    ("check {good.toml}", "good.toml: not a certificate"),
    ("check {latin.toml}", "latin.toml: not a certificate"),
    # files
    ("solve {missing.toml}", "missing.toml: no such file"),
    ("solve {folder}", "cannot be read (Is a directory)"),
    ("solve {broken.toml}", "line 3"),
    ("solve {latin.toml}", "latin.toml: not UTF-8 text"),
    ("solve {huger.toml}", "huger.toml: not valid TOML"),
    ("solve {deep.toml}", "deep.toml: not valid TOML"),
    ("solve {key.toml}", "key.toml: unknown key 'meen'; did you mean 'means'?"),
    ("solve {no-means.toml}", "no-means.toml: the key 'means' is missing; write means = [3, 4, 2]"),
    (
        "solve {no-task.toml}",
        "no-task.toml: the key 'task' is missing; write task = \"ranking\" in the file, answers = [[[0, 1]], [[1, 0]]] "
        "for a custom task, or give --task, which solve, plan, simulate and others have",
    ),
    ("solve {no-task.toml} --task best-arms", "no-task.toml: unknown task 'best-arms'; did you mean 'best-arm'?"),
    ("solve {word.toml}", "word.toml: means must be a list of numbers, got '3, 4'"),
    ("solve {bool.toml}", "means must be numbers, got True"),
    ("solve {huge.toml}", "means holds a whole number that is too large"),
    ("solve {title.toml}", "title must be a string, got 3"),
    ("solve {names.toml}", "arms must be a list of strings, got 'a, b'"),
    ("solve {uncovered.toml}", "no answer covers the order 1 > 0"),
    ("solve {twice.toml}", "is covered by answers 0 and 2"),
    ("solve {cycle.toml}", "answer 0 of the custom task contradicts itself"),
    ("solve {pair.toml}", "a pair is two different arms counted from 0"),
    ("solve {flat.toml}", "answers must be lists of pairs"),
    ("solve {both.toml}", "give answers (a custom task) or task = 'ranking', not both"),
    ("solve {expected.toml}", "1 sampling_proportions for 2 means; give one per arm"),
    ("solve {time.toml}", "characteristic_time must be finite and not negative, got -1"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("bad")
    for name, contents in FILES.items():
        (path / name).write_bytes(contents)
    (path / "endless.toml").symlink_to("/dev/zero")
    return path


def words(line, folder):
    """The words of a command line; {name} becomes a path in the folder, {folder} the folder itself."""
    paths = {name: str(folder / name) for name in [*FILES, "missing.toml", "endless.toml"]} | {"folder": str(folder)}
    return [paths.get(word[1:-1], word) if word.startswith("{") else word for word in line.split()]


@pytest.mark.parametrize(("line", "fragment"), ROWS, ids=[row[0][:70] or "nothing" for row in ROWS])
def test_bad_input_is_refused_in_one_line(line, fragment, folder, capsys):
    expect_refusal(capsys, *words(line, folder), words=fragment)


def test_the_table_has_enough_kinds_and_no_row_twice():
    assert len({line for line, _ in ROWS}) == len(ROWS) >= 36


@pytest.mark.parametrize(
    ("line", "fragment"),
    [
        (flags(means="3,3,2"), "equal means"),
        ("solve {broken.toml}", "line 3"),
        ("solve --means -1,x --family gaussian --costs gaps --task ranking", "got 'x'"),
    ],
)
def test_bad_input_of_the_real_program(line, fragment, folder):
    done = subprocess.run(
        [sys.executable, "-m", "caet_opt", *words(line, folder)], capture_output=True, text=True, check=False
    )
    check_refusal(done.returncode, done.stdout, done.stderr, fragment)


def test_the_options_of_ipopt(folder, capfd):
    status = main(words(flags(more="--solver {profile-ipopt.toml}"), folder))
    check_refusal(status, *capfd.readouterr(), "Ipopt does not take the option tol = -1.0")


@pytest.mark.parametrize("solver", ["native", "clarabel"])
@pytest.mark.parametrize(
    ("family", "means", "costs"),
    [
        ("bernoulli", "1,0.5", "1e-10,1e10"),
        ("gaussian", "1e90,2e90,3e90", "1,1,1"),
        ("gaussian", "1e-85,2e-85,3e-85", "1,1,1"),
        ("gaussian:1e300", "1,2", "1e300,1"),
    ],
)
def test_numbers_that_leave_double_precision_are_one_line(family, means, costs, solver, folder):
    line = f"solve --family {family} --means {means} --costs {costs} --task best-arm --solver {solver}"
    done = subprocess.run(
        [sys.executable, "-m", "caet_opt", *line.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 2)
    assert done.stderr.count("\n") == (done.returncode != 0)
    assert all(text.startswith("caet-opt: error: ") for text in done.stderr.splitlines())


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setattr(Ipopt, "is_installed", classmethod(lambda cls: False))
    status = main(flags(more="--solver ipopt").split())
    out, err = capsys.readouterr()
    check_refusal(status, out, err, "pip install 'caet-opt[ipopt]'")
    assert "or in a clone: pip install '.[ipopt]'" in err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can read every file")
def test_an_unreadable_file(tmp_path, capsys):
    path = tmp_path / "secret.toml"
    path.write_text("")
    path.chmod(0)
    check_refusal(main(["solve", str(path)]), *capsys.readouterr(), "cannot be read (Permission denied)")
