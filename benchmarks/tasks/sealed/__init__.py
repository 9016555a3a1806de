"""Tasks that nothing is run on until the default is chosen; `registry` names them.

They are of other generators, simulators, data and learners than the development tasks. While
`SEALED` is true, `benchmarks.runner` refuses them unless it is told `unseal`, and a test says that
no record of them exists. Set it to False in the commit that adds their first results.
"""

SEALED = True
