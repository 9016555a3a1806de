"""Settings that Ray reads when it is imported."""

import os

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
