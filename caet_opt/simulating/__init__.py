"""Many runs: worker processes, statistics, studies, regret."""
