"""CAET: tracking the optimal proportions of the empirical model until every needed pair is settled."""
