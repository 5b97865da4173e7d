"""The driver: rules in order to a fixpoint, the plan checked after each, every step on record for EXPLAIN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from muntin.core.errors import ConfigError, InternalError
from muntin.optimizer.checks import broken_invariant
from muntin.optimizer.cost import total
from muntin.optimizer.plan_text import plan_text
from muntin.optimizer.rewrite import with_inputs
from muntin.optimizer.rule import Rewrite, Rule
from muntin.optimizer.rules import RULES
from muntin.optimizer.shape import is_rigid, sees_order
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy
from muntin.plan.nodes import BoundQuery, Node, Output

MOST_ROUNDS = 25
"""Rounds over all rules after which the plan must have stopped changing."""

CHEAPER = 1 - 1e-9
"""A costed change must leave less than this share of the cost, so that rounding cannot keep two rules busy."""


@dataclass(frozen=True)
class Step:
    """A rule that changed the plan: the plan before and after, and its estimated cost per second then."""

    rule: str
    before: Output
    after: Output
    cost: float


@dataclass(frozen=True)
class Optimized:
    """The equivalent query, how it came about, and its estimated cost per second."""

    query: BoundQuery
    steps: tuple[Step, ...]
    cost: float


Cost = Callable[[Node], float]
"""What a plan costs per second."""


def optimize(
    query: BoundQuery,
    statistics: Statistics | None = None,
    rules: tuple[Rule, ...] = RULES,
    cost: Cost | None = None,
) -> Optimized:
    """An equivalent query that should run cheaper; deterministic, so equal queries get equal plans. ``cost``: by which
    plans are compared (None: ``cost.total`` under the query's strategy).

    Cost: rules x nodes x rounds (usually two). Raises InternalError naming the rule that broke an invariant, did not
    come to an end, or stands before one that it needs.
    """
    check_order(rules)
    known = statistics or Statistics()
    query = settled(query, known)
    strategy = Strategy(query.options.strategy)
    priced = _remembered(cost or (lambda root: total(root, known, strategy)))
    steps: list[Step] = []
    now = query
    for _ in range(MOST_ROUNDS):
        before = now
        for rule in rules:
            if rule.last and now is not before:
                continue
            changed = _tried(rule, now, known, priced)
            if changed.root is not now.root and changed.root != now.root:
                steps.append(Step(rule.name, now.root, changed.root, priced(changed.root)))
                now = changed
        if now.root == before.root:
            break
    else:
        busy = ", ".join(dict.fromkeys(s.rule for s in steps[-2 * len(rules) :]))
        raise InternalError(
            f"the optimizer did not come to an end within {MOST_ROUNDS} rounds; last to change the plan: {busy}"
            f"\n{plan_text(steps[-1].before)}\nthen\n{plan_text(steps[-1].after)}"
        )
    return Optimized(now, tuple(steps), priced(now.root))


def _remembered(cost: Cost) -> Cost:
    """The cost of plans that are asked for again and again: most rules leave them as they are."""
    known: dict[int, tuple[Node, float]] = {}

    def priced(root: Node) -> float:
        if id(root) not in known:
            known[id(root)] = root, cost(root)  # it stays, and with it its name
        return known[id(root)][1]

    return priced


AUTO = "auto"
"""The option ``strategy`` by which the cheapest one is taken."""


def settled(query: BoundQuery, statistics: Statistics | None = None) -> BoundQuery:
    """The query with its strategy named: the cheapest if its options leave it open.

    Raises ConfigError for an unknown one.
    """
    asked = query.options.strategy
    if asked == AUTO:
        return _under(query, Strategy(choose_strategy(query, statistics)))
    if asked not in [*Strategy]:
        known = ", ".join([*(s.value for s in Strategy), AUTO])
        raise ConfigError(f"option strategy: {asked!r} is none of {known}")
    return query


def choose_strategy(query: BoundQuery, statistics: Statistics | None = None) -> str:
    """The strategy under which the query's optimized plan has the lowest estimate; UPA if it is no worse than another.
    Cost: optimizing three times."""
    order = (Strategy.UPA, Strategy.NT, Strategy.DIRECT)
    costs = {s: optimize(_under(query, s), statistics).cost for s in order}
    return min(order, key=lambda s: (costs[s], order.index(s))).value


def _under(query: BoundQuery, strategy: Strategy) -> BoundQuery:
    return replace(query, options=replace(query.options, strategy=strategy.value))


def check_order(rules: tuple[Rule, ...]) -> None:
    """Every rule stands after those that it names. Raises InternalError."""
    seen: set[str] = set()
    for rule in rules:
        missing = [name for name in rule.after if name not in seen]
        if missing:
            raise InternalError(f"rule {rule.name} must stand after {', '.join(missing)}")
        seen.add(rule.name)


def _tried(rule: Rule, query: BoundQuery, known: Statistics, priced: Cost) -> BoundQuery:
    """The query after one rule, checked."""
    rewrite = rule.bound(known)
    try:
        if rule.costed:
            changed = _cheaper(rule, rewrite, query, priced)
        else:
            changed = _with_root(query, _everywhere(query.root, rewrite, rule.structural, True))
        fault = None if changed.root == query.root else broken_invariant(rule, query, changed)
    except ValueError as e:
        raise InternalError(f"optimizer rule {rule.name} made an impossible plan: {e}\n{plan_text(query.root)}") from e
    if fault:
        raise InternalError(
            f"optimizer rule {rule.name} broke an invariant: {fault}\n"
            f"{plan_text(query.root)}\nbecame\n{plan_text(changed.root)}"
        )
    return changed


def _with_root(query: BoundQuery, root: Node) -> BoundQuery:
    if not isinstance(root, Output):
        raise ValueError("the root is no longer an output")
    return replace(query, root=root)


def _everywhere(node: Node, rewrite: Rewrite, structural: bool, free: bool) -> Node:
    """The rule at every node, inputs first. ``free``: structural rules may change what is here."""
    below = _free_below(node, free)
    inputs = [_everywhere(child, rewrite, structural, below) for child in node.inputs]
    here = with_inputs(node, inputs)
    return rewrite(here) if free or not structural else here


def _free_below(node: Node, free: bool) -> bool:
    """A window over an output starts anew: its rows are ordered by their values."""
    if isinstance(node, Output):
        return not is_rigid(node)
    return free and not sees_order(node)


def _cheaper(rule: Rule, rewrite: Rewrite, query: BoundQuery, priced: Cost) -> BoundQuery:
    """Changes at one place at a time, each of which makes the whole plan cheaper."""
    now, cost = query, priced(query.root)
    for _ in range(MOST_ROUNDS):
        for root in _variants(now.root, rewrite, rule.structural, True):
            changed = _with_root(now, root)
            fault = broken_invariant(rule, now, changed)
            if fault:
                raise InternalError(f"optimizer rule {rule.name} broke an invariant: {fault}\n{plan_text(root)}")
            new = priced(root)
            if new < cost * CHEAPER:
                now, cost = changed, new
                break
        else:
            break
    return now


def _variants(node: Node, rewrite: Rewrite, structural: bool, free: bool) -> Iterator[Node]:
    """The plan with the rule applied at one node only, for each node where it applies."""
    if free or not structural:
        changed = rewrite(node)
        if changed != node:
            yield changed
    below = _free_below(node, free)
    for i, child in enumerate(node.inputs):
        for variant in _variants(child, rewrite, structural, below):
            yield with_inputs(node, [*node.inputs[:i], variant, *node.inputs[i + 1 :]])
