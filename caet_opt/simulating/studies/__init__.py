"""Studies: grids of models, deltas and parameters, run in blocks anywhere and kept in a folder that loses nothing.

study -> cells -> blocks of runs -> local processes or a Dask cluster -> store -> results, tables, figures
"""
