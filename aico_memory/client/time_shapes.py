"""From contracts to the plain dicts that the verbs on time and the graph return."""

from __future__ import annotations

from aico_memory.client.shapes import id_text, memory_shape, scope_text
from aico_memory.client.time_results import (
    Edge,
    Entity,
    EntityMerge,
    Evolution,
    GraphChanges,
    HeldFact,
    Prediction,
    Related,
    Surroundings,
    Trend,
)
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import temporal_pb2


def held_shape(fact: temporal_pb2.HeldFact) -> HeldFact:
    """A fact for a piece of time."""
    return {
        "id": fact.memory_id,
        "scope": scope_text(fact.scope),
        "kind": fact.kind,
        "memory": fact.text,
        "subject": fact.subject or None,
        "predicate": fact.predicate or None,
        "value": fact.value or None,
        "valid_from": format_us(fact.from_us),
        "valid_until": format_us(fact.until_us),
        "known_from": format_us(fact.known_from_us),
        "confidence": fact.confidence,
        "status": fact.status,
    }


def evolution_shape(chain: temporal_pb2.EvolutionChain) -> Evolution:
    """The chain of a fact."""
    return {
        "steps": [
            {
                "what": step.what,
                "id": step.memory_id,
                "old": step.old_text or None,
                "new": step.new_text or None,
                "from_time": format_us(step.from_us),
                "known_at": format_us(step.known_at_us),
                "cause": id_text(step.cause_event_id) or None,
                "subject": step.subject or None,
                "predicate": step.predicate or None,
            }
            for step in chain.steps
        ],
        "cut": chain.cut,
    }


def trend_shape(answer: temporal_pb2.TrendAnswer) -> Trend:
    """How a number moves, with the prediction that was asked for."""
    known = not answer.unknown
    return {
        "points": [{"at": format_us(one.at_us), "value": one.value} for one in answer.points],
        "slope": answer.slope if known else None,
        "volatility": answer.volatility if known else None,
        "changes": [
            {"at": format_us(one.at_us), "before": one.before, "after": one.after, "p_value": one.p_value}
            for one in answer.changes
        ],
        "unknown": answer.unknown or None,
        "prediction": prediction_shape(answer) if answer.predicted_at_us else None,
        "then": answer.value_then if answer.HasField("value_then") else None,
    }


def prediction_shape(answer: temporal_pb2.TrendAnswer) -> Prediction:
    """What is expected, or why that is unknown."""
    known = not answer.prediction_unknown
    return {
        "at": format_us(answer.predicted_at_us),
        "value": answer.predicted if known else None,
        "low": answer.predicted_low if known else None,
        "high": answer.predicted_high if known else None,
        "coverage": answer.coverage if known else None,
        "unknown": answer.prediction_unknown or None,
    }


def entity_shape(entity: temporal_pb2.GraphEntity) -> Entity:
    """An entity with its names."""
    return {
        "id": entity.entity_id,
        "scope": scope_text(entity.scope),
        "name": entity.name,
        "type": entity.type or None,
        "aliases": list(entity.aliases),
        "merged": list(entity.merged),
        "merge_ids": list(entity.merge_ids),
    }


def edge_shape(edge: temporal_pb2.GraphEdge) -> Edge:
    """An edge for the time that it held."""
    return {
        "id": edge.memory_id,
        "subject_id": edge.subject_id,
        "subject": edge.subject,
        "predicate": edge.predicate,
        "object_id": edge.object_id or None,
        "object": edge.object,
        "valid_from": format_us(edge.from_us),
        "valid_until": format_us(edge.until_us),
        "known_from": format_us(edge.known_from_us),
        "confidence": edge.confidence,
        "scope": scope_text(edge.scope),
    }


def surroundings_shape(answer: temporal_pb2.GraphAnswer) -> Surroundings:
    """What stands around an entity."""
    entities, edges = [entity_shape(one) for one in answer.entities], [edge_shape(one) for one in answer.edges]
    return {"entities": entities, "edges": edges, "cut": answer.cut}


def graph_changes_shape(answer: temporal_pb2.GraphChanges) -> GraphChanges:
    """What came and went."""
    came, went = [edge_shape(one) for one in answer.came], [edge_shape(one) for one in answer.went]
    return {"came": came, "went": went, "cut": answer.cut}


def related_shape(item: temporal_pb2.RelatedItem) -> Related:
    """A related memory."""
    return {
        "memory": memory_shape(item.record),
        "hops": item.hops,
        "subject": item.subject,
        "relation": item.type,
        "object": item.object,
        "confidence": item.confidence,
    }


def merge_shape(done: temporal_pb2.EntityMerge) -> EntityMerge:
    """A merge as it stands."""
    return {
        "merge_id": done.merge_id,
        "kept": done.kept_id,
        "absorbed": done.absorbed_id,
        "at": format_us(done.at_us),
        "how": done.how,
        "undone_at": format_us(done.undone_at_us),
    }
