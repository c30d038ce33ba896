"""Made-up conversation for load: varied enough to search in, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

NAMES = ("Ada", "Bruno", "Chen", "Dilek", "Emre", "Farah", "Greta", "Hugo", "Ines", "Jonas", "Kemal", "Lena")
PLACES = ("Bristol", "Izmir", "Leipzig", "Porto", "Osaka", "Tromsø", "Valencia", "Krakow", "Ghent", "Adana")
THINGS = (
    "bicycle", "greenhouse", "telescope", "violin", "tax return", "kayak", "bookshelf", "irrigation pump", "passport",
    "sourdough starter", "camera", "printer", "allotment", "router", "winter coat", "sewing machine", "chess set",
)  # fmt: skip
# Where a thing is: whoever tells a hundred thousand things does not give seventeen of them a new code seven hundred times.
WHEREABOUTS = (
    "attic", "balcony", "barn", "basement", "bathroom", "beach hut", "bedroom", "boathouse", "bungalow", "cabin", "canteen",
    "caravan", "cellar", "chalet", "classroom", "club", "conservatory", "corridor", "cottage", "courtyard", "den",
    "dining room", "farm", "garage", "garden", "greenhouse", "guest room", "gym", "hallway", "hayloft", "holiday flat", "hut",
    "kitchen", "laundry", "library", "lobby", "loft", "mill", "museum", "nursery", "office", "orchard", "pantry", "pavilion",
    "porch", "rectory", "sauna", "school", "shed", "shop", "spare room", "stable", "studio", "study", "summer house", "terrace",
    "vestry", "village hall", "workshop", "yard",
)  # fmt: skip
FRAMES = (
    "{name} told me that the {thing} in {place} has to be repaired before {day} {number}.",
    "I prefer the {colour} {thing}, the other one reminds me of {place}.",
    "We moved the meeting about the {thing} to {day}, {name} cannot come before {number} o'clock.",
    "My sister {name} lives in {place} and collects everything about the {thing}.",
    "Please remember: the code for the {thing} is {number}, and {name} has the spare key.",
    "The trip to {place} was lovely, but somebody forgot the {colour} {thing} on the train.",
    "Could you order {number} of them? The {thing} from {place} arrived broken again.",
    "{name} and I argued about the {thing}; I still think {colour} was the better choice.",
)
# Those that state no fact for the rules: such a message makes a record and nothing else.
PLAIN_FRAMES = (FRAMES[0], FRAMES[5], FRAMES[6], FRAMES[7])
COLOURS = ("red", "blue", "dark green", "yellow", "grey", "striped")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def sentences(rng: random.Random, things: Sequence[str] = THINGS, frames: Sequence[str] = FRAMES) -> Iterator[str]:
    """An endless stream of messages about some things."""
    while True:
        yield rng.choice(frames).format(
            name=rng.choice(NAMES),
            place=rng.choice(PLACES),
            thing=rng.choice(things),
            colour=rng.choice(COLOURS),
            day=rng.choice(DAYS),
            number=rng.randint(1, 9999),
        )


def many_things() -> tuple[str, ...]:
    """Each thing in each place of a house or a village: 1,020 of them."""
    return tuple(f"{where} {thing}" for thing in THINGS for where in WHEREABOUTS)


def questions(rng: random.Random) -> Iterator[str]:
    """An endless stream of questions about such messages."""
    while True:
        thing, name, place = rng.choice(THINGS), rng.choice(NAMES), rng.choice(PLACES)
        yield rng.choice(
            (
                f"What did {name} say about the {thing} number {rng.randint(1, 9999)}?",
                f"Which {thing} do I prefer, and what happened in {place}?",
                f"Who has the spare key for the {thing} since {rng.choice(DAYS)} {rng.randint(1, 30)}?",
            )
        )
