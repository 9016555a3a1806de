"""The authors' own Lunar-Lander runs: best observed reward, mean and standard error of five runs.

Computed from the result files in their repository (daizhongxiang/sto-bnts, commit f0a1759), by
iteration after the 20 starting points. Their starting values were measured with weights w = x
instead of w = 2 x; ours are those of w = 2 x at the same points.
"""

AUTHORS_RUNS = 5
ITERATIONS = (20, 50, 100, 200, 300, 500)
LUNAR = {
    "sto-paper": ((92.8, 37.8), (181.0, 21.4), (220.5, 18.3), (260.8, 5.4), (268.3, 4.1),
                  (277.1, 0.7)),
    "sto-paper@4": ((189.2, 26.1), (263.4, 4.1), (269.4, 2.2), (278.9, 1.1), (280.9, 1.5),
                    (286.3, 1.2)),
    "linear-paper": ((72.6, 30.0), (156.1, 31.7), (212.3, 22.9), (262.6, 6.1), (268.3, 2.8),
                     (273.0, 1.6)),
    "linear-paper@4": ((207.6, 30.3), (241.9, 19.1), (262.0, 12.8), (265.1, 13.6), (265.1, 13.6),
                       (278.3, 4.2)),
    "gp-ts-paper": ((-14.3, 20.0), (16.2, 22.8), (20.3, 21.1), (119.7, 44.7), (138.6, 41.3),
                    (175.0, 34.8)),
    "gp-ucb-paper": ((-11.2, 19.4), (-6.3, 19.2), (-1.0, 18.0), (100.6, 48.5), (158.1, 45.5),
                     (185.4, 51.3)),
    "neural-ts-paper": ((15.0, 14.6), (15.0, 14.6), (38.7, 8.2), (42.9, 7.1), (49.9, 6.8),
                        (53.9, 4.6)),
    "neural-ucb-paper": ((42.7, 31.7), (58.7, 31.1), (73.7, 26.5), (85.1, 23.8), (91.7, 22.6),
                         (92.8, 22.0)),
}  # fmt: skip
LUNAR |= {name.replace("paper", "released"): LUNAR[name] for name in ("sto-paper", "linear-paper")}
