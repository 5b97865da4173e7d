"""What multi-way window joins cost, and in which order to join (Golab & Ozsu 2003; thesis 5.3).

``cost`` counts attribute comparisons per unit time of each algorithm; ``heuristics`` proposes orders, ``search`` tries
all; ``indexes`` places hash buckets; ``choose`` says which algorithms inputs allow and what laziness loses.
"""
