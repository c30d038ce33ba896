"""What a new policy has to beat, for all people at once. Each sees triggers, styles and thumbs, never the truth."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aico_memory.bench.behavior.worlds import Floats, World
from aico_memory.domain.behavioral.situation import BUCKETS

Chosen = NDArray[np.int64]
Thumbs = NDArray[np.bool_]
NEVER = -np.inf


class Player(Protocol):
    """One algorithm at play with all people of a world."""

    def choose(self, step: int) -> Chosen:
        """One skill for each person at this interaction."""

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        """The thumbs of those who gave one."""


class _Seated:
    """What the baselines have in common: who is where, and what applies there."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.draws = np.random.default_rng([seed, 3])
        self.users = np.arange(len(world.visits))
        self.skills = world.triggers.shape[1]
        self.buckets = np.array([situation.bucket for situation in world.situations])

    def best(self, step: int, values: Floats) -> Chosen:
        """The largest value (users x skills) among what applies; equals by a draw."""
        applies = self.world.applies[self.world.visits[:, step]]
        shaken = values + 1e-9 * self.draws.random(values.shape)
        return np.asarray(np.where(applies, shaken, NEVER).argmax(1))


class RandomChoice(_Seated):
    """Any skill that applies."""

    def choose(self, step: int) -> Chosen:
        return self.best(step, self.draws.random((len(self.users), self.skills)))

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        """Nothing."""


class BestFixed(_Seated):
    """For each intent the one skill that pleases most people on the mean: it is told the truth, and learns nothing."""

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        visited = np.bincount(world.visits.ravel(), minlength=len(world.situations)).astype(float)
        mean = world.truth.mean(0)
        self.favourite = np.zeros((world.intent_of.max() + 1, self.skills))
        for intent in range(len(self.favourite)):
            rows = world.intent_of == intent
            self.favourite[intent] = (np.where(world.applies[rows], mean[rows], 0.0) * visited[rows, None]).sum(0)

    def choose(self, step: int) -> Chosen:
        return self.best(step, self.favourite[self.world.intent_of[self.world.visits[:, step]]])

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        """Nothing."""


class ThompsonCells(_Seated):
    """Thompson sampling with a Beta(1, 1) for each (user, skill), or each (user, bucket, skill)."""

    def __init__(self, world: World, seed: int, by_bucket: bool) -> None:
        super().__init__(world, seed)
        self.by_bucket = by_bucket
        self.counts = np.ones((len(self.users), BUCKETS if by_bucket else 1, self.skills, 2))

    def _place(self, step: int) -> Chosen:
        buckets = self.buckets[self.world.visits[:, step]]
        return buckets if self.by_bucket else np.zeros_like(buckets)

    def choose(self, step: int) -> Chosen:
        cells = self.counts[self.users, self._place(step)]
        return self.best(step, self.draws.beta(cells[:, :, 1], cells[:, :, 0]))

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        self.counts[self.users[given], self._place(step)[given], chosen[given], thumbs[given].astype(int)] += 1


class HierarchicalGreedy(_Seated):
    """Beta means that shrink (user, bucket, skill) to (user, skill) to the trigger's score; the largest is taken."""

    STRENGTH = 4.0
    BASE, SPAN = 0.4, 0.2

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        self.fine = np.zeros((len(self.users), BUCKETS, self.skills, 2))

    def choose(self, step: int) -> Chosen:
        visits = self.world.visits[:, step]
        prior = self.BASE + self.SPAN * np.nan_to_num(self.world.triggers[visits])
        coarse, fine = self.fine.sum(1), self.fine[self.users, self.buckets[visits]]
        general = (coarse[..., 1] + self.STRENGTH * prior) / (coarse.sum(2) + self.STRENGTH)
        return self.best(step, (fine[..., 1] + self.STRENGTH * general) / (fine.sum(2) + self.STRENGTH))

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        buckets = self.buckets[self.world.visits[:, step]]
        self.fine[self.users[given], buckets[given], chosen[given], thumbs[given].astype(int)] += 1


class LinUcb(_Seated):
    """LinUCB (Li et al., 2010) on a constant, the style dimensions and the trigger; its prior may come from others."""

    WIDTH = 0.3

    def __init__(self, world: World, styles: Floats, seed: int, prior: tuple[Floats, Floats] | None = None) -> None:
        super().__init__(world, seed)
        self.styles = styles
        size = styles.shape[1] + 2
        mean, covariance = prior or (np.zeros(size), np.eye(size))
        self.covariance = np.repeat(covariance[None], len(self.users), 0)
        self.mean = np.repeat(mean[None], len(self.users), 0)

    def _features(self, step: int) -> Floats:
        triggers = np.nan_to_num(self.world.triggers[self.world.visits[:, step]])
        constant = np.ones((*triggers.shape, 1))
        styles = np.broadcast_to(self.styles, (*triggers.shape, self.styles.shape[1]))
        return np.concatenate([constant, styles, triggers[..., None]], axis=2)

    def choose(self, step: int) -> Chosen:
        features = self._features(step)
        expected = np.einsum("usd,ud->us", features, self.mean)
        spread = np.einsum("usd,ude,use->us", features, self.covariance, features, optimize=True)
        return self.best(step, expected + self.WIDTH * np.sqrt(spread))

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        features = self._features(step)[self.users, chosen]
        gain = np.einsum("ude,ue->ud", self.covariance, features)
        scale = 1.0 + np.einsum("ud,ud->u", features, gain)
        error = (thumbs - np.einsum("ud,ud->u", features, self.mean)) / scale
        self.mean += np.where(given[:, None], gain * error[:, None], 0.0)
        change = gain[:, :, None] * gain[:, None, :] / scale[:, None, None]
        self.covariance -= np.where(given[:, None, None], change, 0.0)

    def prior(self) -> tuple[Floats, Floats]:
        """Mean and covariance over the people, for a prior of those who come after them."""
        spread = np.cov(self.mean.T) + self.covariance.mean(0)
        return self.mean.mean(0), spread


def play(world: World, player: Player, feedback: float) -> Floats:
    """users x interactions: the true P(thumb up) of what the player chose."""
    users, steps = world.visits.shape
    reached = np.zeros((users, steps))
    everyone = np.arange(users)
    for step in range(steps):
        chosen = player.choose(step)
        reached[:, step] = world.truth[everyone, world.visits[:, step], chosen]
        player.learn(step, chosen, world.likes(step, chosen), world.given[:, step] < feedback)
    return reached
