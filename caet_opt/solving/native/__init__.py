"""A solver written for this problem: log-effort coordinates, graph elimination, a certificate at every iterate."""
