"""Whether a machine can keep up with a query, and what to leave out where it cannot (Ayad & Naughton 2004).

``model`` gives rates, active windows and utilisation of a plan; ``boxes`` the drop boxes at its sources that cost the
least output; ``search`` the plan to run, drop boxes included.
"""
