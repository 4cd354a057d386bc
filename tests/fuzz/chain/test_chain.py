"""10,000 chains on both routes; what passes may round is within its bounds; and the judge sees what
is wrong."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import arithmetic
import blocks
import chain_judge
import exceptions
import interval
import others
import quantized
import steps
from chain import Chain, grow
from chain_hunt import TOGETHER, hunt

SEEDS = 10_000
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_chains(part, tmp_path):
    each = SEEDS // PARTS
    for first in range(part * each, (part + 1) * each, TOGETHER):
        seeds = range(first, min(first + TOGETHER, (part + 1) * each))
        found = hunt(seeds, tmp_path)
        assert not found, "\n".join(found)


def of_kind(kind, count):
    rng = numpy.random.default_rng(17)
    kinds = [kind(rng, numpy.dtype(numpy.float32)) for _ in range(count)]
    return [Chain(i, source, [], False) for i, source in enumerate(kinds)]


def check_kind(kind):
    for finding in chain_judge.judge(of_kind(kind, 640)):
        pytest.fail(f"{finding.route}: {finding.what}\n{finding.chain.show()}")


def test_trees_are_within_their_bounds():
    check_kind(blocks.tree)


def test_quantized_operators_are_within_their_bounds():
    check_kind(quantized.source)


def test_other_judges_agree():
    """What this evaluation allows, others give, too: a few chains of f32."""
    asked = 0
    for seed in range(200):
        chain = grow(seed)
        for name, ask in others.JUDGES.items():
            found = ask(chain)
            if found is None:
                continue
            asked += 1
            wrong = chain_judge.difference(chain, found, chain.right(by_ort=True))
            assert wrong is None, f"seed {seed}, {name}: {wrong}\n{chain.show()}"
    assert asked > 60


def test_the_judge_sees_a_step_that_is_missing():
    seen = 0
    for seed in range(64):
        chain = grow(seed)
        if chain.source.place.dtype.name != "float32":
            continue
        wrong = dataclasses.replace(chain, steps=chain.steps + [steps.Step(
            "Add one, which no node does", lambda b, x: b.node("Identity", [x]),
            lambda x: arithmetic.add(x, arithmetic.number(1, x.dtype)))])
        seen += bool(chain_judge.judge([wrong], ("own",)))
    assert seen > 20


@pytest.mark.parametrize("found, lo, hi, is_wrong", [
    (1, 1, 1, False), (1, 0, 2, False), (3, 0, 2, True), (numpy.nan, 0, 2, True),
    (0.0, -0.0, -0.0, True), (-0.0, 0.0, 2, True), (0.0, -0.0, 0.0, False),
    (numpy.nan, numpy.nan, numpy.nan, False), (1, numpy.nan, numpy.nan, True)])
def test_what_is_wrong(found, lo, hi, is_wrong):
    right = interval.Interval(*(numpy.float32([end]) for end in (lo, hi)))
    assert interval.wrong(numpy.float32([found]), right)[0] == is_wrong


@pytest.mark.parametrize("step", [arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div])
def test_what_numbers_within_give_lies_within(step):
    ends = numpy.float32([-numpy.inf, -2, -0.0, 0.0, 0.5, 2, numpy.inf])
    all_of = [(lo, hi) for i, lo in enumerate(ends) for hi in ends[i:]]
    with numpy.errstate(all="ignore"):
        for a in all_of:
            for b in all_of:
                right = step(*(interval.Interval(numpy.float32([lo]), numpy.float32([hi]))
                               for lo, hi in (a, b)))
                within = [[x for x in ends if not interval.is_below(x, lo)
                           and not interval.is_below(hi, x)] for lo, hi in (a, b)]
                for x in within[0]:
                    for y in within[1]:
                        points = (interval.exact(numpy.float32([z])) for z in (x, y))
                        assert not interval.wrong(step(*points).lo, right)[0], (a, b, x, y)


def test_a_vector_that_is_large_is_no_exception():
    terms = exceptions.Terms(numpy.ones((1, 2)), 1, False, numpy.ones(2))
    found = interval.exact(numpy.ones((1, 2), numpy.float32))
    for number, is_open in ((1, True), (2000, False)):
        step = steps.Step("", None, None, ("Add", numpy.float32([number, number]), False))
        value, _ = exceptions.follow(terms, step, found)
        assert (value.lo < value.hi).all() == is_open


def test_a_seed_makes_a_chain_again():
    for seed in range(20):
        first, again = (grow(seed).build("c") for _ in range(2))
        assert [n.SerializeToString() for n in first.nodes] == [
            n.SerializeToString() for n in again.nodes]


def test_the_command_finds_what_it_needs():
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-m", "tests.fuzz.chain", "--seed", "3", "--count", "2"],
                          cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 chains, 0 findings" in done.stdout, done.stdout
