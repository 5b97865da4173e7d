"""The documents' sharing rules as named data: SS1 to SS4 for state, CS1 to CS8 for computation; one file a rule.

They say when synopses of the documents' kinds (``research.synopses``) may be shared, and which tasks a scheduler may
group. The product's own synopsis is of one kind that allows all of it: panes with running totals (SS1, and CS2 since
all windows are read in one pass), sums beside counts (SS2, CS3), rows by the set of predicates that they fulfil (SS4,
CS6, CS7).
"""

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task
from muntin.dataflow.sharing.conditions.cs1 import CS1
from muntin.dataflow.sharing.conditions.cs2 import CS2
from muntin.dataflow.sharing.conditions.cs3 import CS3
from muntin.dataflow.sharing.conditions.cs4 import CS4
from muntin.dataflow.sharing.conditions.cs5 import CS5
from muntin.dataflow.sharing.conditions.cs6 import CS6
from muntin.dataflow.sharing.conditions.cs7 import CS7
from muntin.dataflow.sharing.conditions.cs8 import CS8
from muntin.dataflow.sharing.conditions.ss1 import SS1
from muntin.dataflow.sharing.conditions.ss2 import SS2
from muntin.dataflow.sharing.conditions.ss3 import SS3
from muntin.dataflow.sharing.conditions.ss4 import SS4

CONDITIONS: tuple[Condition, ...] = (SS1, SS2, SS3, SS4, CS1, CS2, CS3, CS4, CS5, CS6, CS7, CS8)

__all__ = ["CONDITIONS", "Condition", "Kept", "Task"]
