"""The figures that have a target, and those that miss it."""

import numpy as np

LARGE = {10_000: 8, 100_000: 30}  # observations, and the seconds that a suggestion may take


def summarise(found):
    """Return the figures that have a target, and those that miss it."""
    figures, targets = {}, {}

    def add(name, value, low=-np.inf, high=np.inf):
        figures[name] = round(float(value), 3)
        targets[name] = low <= value <= high

    for row in found["asks"]:
        if row["n"] in LARGE:
            name = f"ask_n{row['n']}"
            slowest = max(row.get("first_s", np.inf), row.get("wall_s", np.inf))
            add(f"{name}_s", slowest, high=LARGE[row["n"]])
            add(f"{name}_mb", row.get("peak_mb", np.inf), high=3072)
        if row["batch"] > 1:
            add(f"ask{row['batch']}_s", row["wall_s"])
            add(f"ask{row['batch']}_mb", row["peak_mb"], high=4096)
    row = found["rivals"][0]
    add("ask4_speedup_over_gp", row["GPSampler"]["wall_s"] / row["thomax"]["wall_s"], low=5)
    if "BoTorch pathwise" in row:
        ratio = row["BoTorch pathwise"]["wall_s"] / row["thomax"]["wall_s"]
        add("ask4_speedup_over_botorch", ratio, low=1)
    pools = {(row["rows"], row["features"]): row for row in found["pools"] if "wall_s" in row}
    for (rows, features), row in pools.items():
        name = f"pool_1e{len(str(rows)) - 1}x{features}"
        add(f"{name}_s", row["wall_s"])
        add(f"{name}_share", row["share"], low=0.4 if features == 64 else 0)
        add(f"{name}_mb", row["anonymous_mb"], high=500)
        if "sharded_s" in row:
            add(f"{name}_sharded_s", row["sharded_s"])
            add(f"{name}_sharded_same", row["sharded_same"], low=1)
    sizes = [(10**6, 8), (10**7, 8)]
    if all(size in pools for size in sizes):
        few, many = (pools[size]["share"] for size in sizes)  # the machine may have slowed down
        add("pool_cost_a_row_1e7_over_1e6", few / many, high=1.5)
    row = found["update"][-1]
    add("one_more_over_again", row["one more"] / row["again"], high=2)
    for row in found["discrete"]:
        kind, high = ("booleans", 5) if "booleans" in row else ("choices", 2)
        add(f"{kind}{row[kind]}_s", row.get("cpu_s", np.inf), high=high)
    for row in found["journals"]:
        add(f"journal{row['records']}_open_s", row["open_s"], high=2)
        add(f"journal{row['records']}_tell_s", row["tell_s"], high=0.5)
    soak = found["soak"][0]
    add("soak_mb_per_hour", soak["mb_per_hour"])
    add("soak_late_growth_mb", soak["late_growth_mb"], high=20)
    return figures, [name for name, met in targets.items() if not met]
