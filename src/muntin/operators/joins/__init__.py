"""Window joins: on one key, over a join graph, the windows that they enter, and what they measure of themselves."""
