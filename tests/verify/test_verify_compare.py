"""Bag comparison: what counts as equal, and what is reported when it is not."""

import math
from decimal import Decimal

import pytest

from muntin.verify.compare import accumulate, bag_difference, net, same_value


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True), (1, 2, False), (0.0, -0.0, True), (math.nan, math.nan, True), (math.nan, 1.0, False),
        (1.0, 1.0 + 1e-9, True), (1.0, 1.001, False), (None, None, True), (None, 0, False), (True, 1, False),
        ("a", "a", True), ("1", 1, False), (Decimal("1.50"), 1.5, True), (10**18, 10**18 + 1, False),
        (math.inf, math.inf, True), (math.inf, 1e300, False),
    ],
)  # fmt: skip
def test_same_value(a, b, equal):
    assert same_value(a, b) is equal
    assert same_value(b, a) is equal


def test_bags_count_copies():
    difference = bag_difference([(1,), (1,), (2,)], [(1,), (3,), (2,)])
    assert difference.missing == ((1,),) and difference.unexpected == ((3,),)
    assert str(difference) == "missing (1); unexpected (3)"


def test_equal_bags_in_any_order_have_no_difference():
    assert not bag_difference([(1, None), (math.nan, "x"), (0.1 + 0.2, "y")], [(0.3, "y"), (math.nan, "x"), (1, None)])


def test_net_cancels_equal_rows_of_one_instant():
    assert net([("-", (1,)), ("+", (1,)), ("+", (2,))]) == [("+", (2,))]
    assert net([("-", (1,)), ("-", (1,)), ("+", (1.0,))]) == [("-", (1,))]


def test_accumulate_gives_what_is_left_and_marks_strays():
    assert accumulate([("+", (1,)), ("+", (1,)), ("-", (1,))]) == [(1,)]
    assert accumulate([("-", (5,))]) == [("left without entering", 5)]
