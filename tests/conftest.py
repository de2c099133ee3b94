"""What all tests share: one Hypothesis profile. Time is no part of a test here, neither a deadline nor a slow start."""

from hypothesis import HealthCheck, settings

settings.register_profile("llmcore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("llmcore")
