"""What every room uses: files, exact decimals, numbers as text, names, checks of input."""
