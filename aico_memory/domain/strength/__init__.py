"""How strong a memory is: retention, importance, utility, confidence, and what is forgotten."""
