"""How much of its windows an overloaded join reads, and which parts of them (Gedik et al., GrubJoin).

``throttle`` says by how much work must shrink; ``problem`` costs a setting of harvest fractions; ``solvers`` find good
ones; ``lags`` learns from results where in a window partners are.
"""
