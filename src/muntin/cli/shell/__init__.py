"""``muntin shell``: a prompt for queries over files, or over the windows that a live checkpoint holds.

``statements`` cuts what is typed into statements and commands, ``sources`` answers, ``commands`` does what a statement
or command says, ``completion`` knows what may come next, ``prompt`` reads from a terminal, ``run`` puts them together.
"""
