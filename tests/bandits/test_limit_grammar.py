"""Limits in the grammar."""

from fractions import Fraction

import pytest

from caet_opt import InputError, Limit, ModelFile, parse_limit, read_model, write_model
from caet_opt.bandits.limits import join_limits, read_limits

NAMES = ["placebo", "a,b", "x<=0.5", "leader", "4"]


@pytest.mark.parametrize(
    ("text", "arms", "relation", "share"),
    [
        ("cost:0,2<=0.3", (0, 2), "<=", "0.3"),
        (" pulls : 1 >= 1e-1 ", (1,), ">=", "0.1"),
        ("pulls:leader=.5", None, "=", "0.5"),
        ("cost:4=1", (4,), "=", "1"),
    ],
)
def test_a_limit_is_read_as_it_is_written(text, arms, relation, share):
    limit = parse_limit(text)
    assert (limit.arms, limit.relation, limit.share) == (arms, relation, Fraction(share))
    assert parse_limit(str(limit)) == limit


@pytest.mark.parametrize("arm", range(5))
def test_arms_have_names_whatever_is_in_them(arm):
    limit = Limit("cost", (arm, (arm + 1) % 5), "<=", Fraction(1, 4))
    assert parse_limit(limit.write(NAMES), NAMES) == limit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pulls:0<0.3", "is not a limit; write 'cost:0,1<=0.3'"),
        ("money:0<=0.3", "is not a limit"),
        ("pulls:0<=1.5", "a share is a number from 0 to 1"),
        ("pulls:0<=-0.1", "a share is a number from 0 to 1"),
        ("pulls:0<=nan", "a share is a number from 0 to 1"),
        ("pulls:0<=1e-99999999", "a share is a number from 0 to 1"),  # its exact value would take all memory
        ("pulls:0<=1e99999999", "a share is a number from 0 to 1"),
        ("pulls:<=0.5", "arms are numbers counted from 0, or leader alone"),
        ("pulls:0,0<=0.5", "must name each of its arms once"),
        ("pulls:leader,0<=0.5", "or leader alone, got 'leader'"),
        (3, "a limit is a text such as"),
    ],
)
def test_what_is_no_limit_is_refused(text, message):
    with pytest.raises(InputError) as refusal:
        read_limits([text])
    assert message in str(refusal.value)


def test_names_that_are_none_and_a_leader_by_name_are_refused():
    with pytest.raises(InputError, match="limit 'pulls:plcebo': unknown arm 'plcebo'; did you mean 'placebo'"):
        parse_limit("pulls:plcebo<=0.5", NAMES)
    with pytest.raises(InputError, match="an arm is called leader; write it in quotes"):
        parse_limit("pulls:leader<=0.5", NAMES)
    assert parse_limit('pulls:"leader"<=0.5', NAMES).arms == (3,)


def test_several_are_one_text():
    joined = join_limits(["pulls:placebo>=0.1", Limit("cost", None, "<=", Fraction("0.25"))], ["placebo", "drug"])
    assert joined == "pulls:0>=0.1; cost:leader<=0.25"
    assert join_limits(joined) == joined
    assert join_limits(None) is join_limits([]) is None


def test_a_model_file_has_limits_in_a_list_or_in_tables(tmp_path):
    entry = read_model("placebo-trial")
    assert entry.limits == (Limit("pulls", (0,), ">=", Fraction(1, 10)),)
    written, tables = tmp_path / "list.toml", tmp_path / "tables.toml"
    write_model(written, entry)
    assert read_model(written) == entry
    plain = 'family = "bernoulli"\nmeans = [0.3, 0.5]\narms = ["placebo", "drug"]\ntask = "best-arm"\n[[limits]]\n'
    tables.write_text(plain + "limit = 'pulls:placebo>=0.10'\n")
    assert read_model(tables).limits == entry.limits
    tables.write_text(plain + "share = 0.1\n")
    with pytest.raises(InputError, match="a table of limits has one key"):
        read_model(tables)
    with pytest.raises(InputError, match="unknown arm 'sugar'"):
        ModelFile(entry.model, entry.task, limits=["pulls:sugar>=0.1"])
