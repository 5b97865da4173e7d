"""The rules, in the order in which the driver tries them: a file, a function and a golden script each."""

from __future__ import annotations

from muntin.optimizer.rule import Rule
from muntin.optimizer.rules.flatten_joins import flatten_joins
from muntin.optimizer.rules.fold_constants import fold_constants
from muntin.optimizer.rules.merge_projections import merge_projections
from muntin.optimizer.rules.place_nrr_joins import place_nrr_joins
from muntin.optimizer.rules.prune_columns import prune_columns
from muntin.optimizer.rules.pull_negation_up import pull_negation_up
from muntin.optimizer.rules.push_distinct import push_distinct
from muntin.optimizer.rules.push_negation_down import push_negation_down
from muntin.optimizer.rules.push_selections import push_selections
from muntin.optimizer.rules.remove_distinct import remove_distinct
from muntin.optimizer.rules.reorder_joins import reorder_joins
from muntin.optimizer.rules.simplify_outer_joins import simplify_outer_joins

RULES: tuple[Rule, ...] = (
    Rule(fold_constants),
    Rule(merge_projections),
    Rule(simplify_outer_joins, after=("fold_constants",), structural=True, simplifies=True),
    Rule(push_selections, after=("fold_constants", "simplify_outer_joins")),
    Rule(flatten_joins, after=("push_selections",)),
    Rule(place_nrr_joins, after=("flatten_joins",), structural=True),
    Rule(remove_distinct, after=("push_selections",), structural=True, simplifies=True),
    Rule(push_distinct, after=("remove_distinct",), costed=True, structural=True),
    Rule(pull_negation_up, after=("flatten_joins", "place_nrr_joins"), costed=True, structural=True),
    Rule(push_negation_down, after=("pull_negation_up",), costed=True, structural=True),
    Rule(reorder_joins, after=("flatten_joins",), costed=True, structural=True, statistics=True),
    Rule(prune_columns, last=True),
)

__all__ = ["RULES"]
