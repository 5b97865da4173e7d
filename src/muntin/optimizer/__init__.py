"""From a bound plan to an equivalent cheaper one (thesis 3.5.3).

``optimize`` runs the rules of ``rules.RULES`` in order to a fixpoint and checks the plan after each; rules that move
negation, DISTINCT or join inputs count only where ``cost.total`` says that the plan gets cheaper. ``choose_strategy``
compares the execution strategies on one plan; ``settled`` does so where the query's options say "auto". Folders have
models of their own: ``multiway`` of joins, ``capacity`` of machines, ``harvest`` of what an overloaded join reads."""

from muntin.optimizer.cost import total
from muntin.optimizer.driver import Optimized, Step, choose_strategy, optimize, settled
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy

__all__ = [
    "Optimized",
    "Statistics",
    "Step",
    "Strategy",
    "choose_strategy",
    "optimize",
    "settled",
    "total",
]
