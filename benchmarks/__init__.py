"""Everything that is measured about thomax. No part of the installed package.

tasks     what is optimised: functions, controllers, models to tune, pools of candidates
rivals    other libraries' optimisers behind one interface
paper     the paper's figures and claims
compare   how all methods compare on suites of tasks
early     how they compare along the run, from the first evaluations on
runner    runs a method on a task, repeatable and resumable; `methods` names them

`python -m benchmarks --help` runs experiments; `ask`, `draws`, `failures`, `initial`, `scale`,
`start` and `optuna_samplers` are programs of their own, which `make bench-...` calls.
"""
