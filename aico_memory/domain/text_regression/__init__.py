"""Linear rules over the spelling of texts: runs of characters as sparse rows, and ridge regression on them."""
