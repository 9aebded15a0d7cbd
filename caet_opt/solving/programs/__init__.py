"""The epigraph program ``max t  s.t.  t <= pair terms``, written out for each kind of solver, built once per shape."""
