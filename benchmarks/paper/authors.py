"""The authors' own Lunar-Lander runs: best observed reward, mean and standard error of five runs.

Computed from the result files in their repository (daizhongxiang/sto-bnts, commit f0a1759), by
iteration after the 20 starting points, a batch counting as one. Their starting values were
measured with weights w = x instead of w = 2 x; ours are those of w = 2 x at the same points.
"""

AUTHORS_RUNS = 5
ITERATIONS = (20, 50, 100, 200, 300, 400, 500)
LUNAR = {
    "sto-paper": ((92.8, 42.3), (181.0, 23.9), (220.5, 20.5), (260.8, 6.1),
        (268.3, 4.6), (272.3, 4.0), (277.1, 0.8)),
    "sto-paper@4": ((189.2, 29.2), (263.4, 4.6), (269.4, 2.5), (278.9, 1.3),
        (280.9, 1.7), (282.8, 0.9), (286.3, 1.3)),
    "linear-paper": ((72.6, 33.6), (156.1, 35.5), (212.3, 25.6), (262.6, 6.8),
        (268.3, 3.2), (272.5, 1.5), (273.0, 1.8)),
    "linear-paper@4": ((207.6, 33.9), (241.9, 21.4), (262.0, 14.3), (265.1, 15.2),
        (265.1, 15.2), (267.0, 15.6), (278.3, 4.7)),
    "gp-ts-paper": ((-14.3, 22.4), (16.2, 25.5), (20.3, 23.6), (119.7, 49.9),
        (138.6, 46.2), (170.4, 40.0), (175.0, 38.9)),
    "gp-ucb-paper": ((-11.2, 21.7), (-6.3, 21.5), (-1.0, 20.1), (100.6, 54.3),
        (158.1, 50.9), (175.7, 55.0), (185.4, 57.4)),
    "neural-ts-paper": ((15.0, 16.3), (15.0, 16.3), (38.7, 9.1), (42.9, 7.9),
        (49.9, 7.5), (50.3, 7.3), (53.9, 5.2)),
    "neural-ucb-paper": ((42.7, 35.5), (58.7, 34.8), (73.7, 29.6), (85.1, 26.6),
        (91.7, 25.3), (91.7, 25.3), (92.8, 24.6)),
}  # fmt: skip
LUNAR |= {name.replace("paper", "released"): curve for name, curve in LUNAR.items()}
