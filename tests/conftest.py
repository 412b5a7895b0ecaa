"""What every test gets: the profiles of hypothesis.

`ggfmt` draws the same few examples every time, so that a run is red for what has changed and not by chance; `thorough`
(`pytest --hypothesis-profile=thorough`) draws many new ones. Tests give a weight instead of a count (`examples`).
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

LENIENT = settings(
    deadline=None,  # the machine may be shared
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.register_profile("ggfmt", LENIENT, max_examples=20, derandomize=True, database=None)
settings.register_profile("thorough", LENIENT, max_examples=300, print_blob=True)
settings.load_profile("ggfmt")
