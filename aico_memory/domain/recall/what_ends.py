"""What may be meant by an end that does not say what it was: "I left X", "I gave up Y"."""

from __future__ import annotations

# What one may leave: a verb of leaving does not say which of them.
MEMBERSHIPS = frozenset({"home_city", "employer", "partner", "location", "school", "team", "project", "studies"})
# What one gives up with the same verbs ("I quit Swedish").
GIVEN_UP = frozenset(
    {"learning", "plays", "hobby", "member", "gym", "subscription", "training", "volunteering", "drinks", "eats", "uses"}
)
# What one does for its own sake, under whichever of these names.
PURSUITS = frozenset({"plays", "hobby", "training", "learning"})
# "The cheese is finished" ends no taste for it.
TASTES = frozenset({"likes", "dislikes", "allergy", "not_eaten", "not_drunk", "eats", "drinks"})
