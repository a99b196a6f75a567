"""The JSON Schemas that models read describe the types that their answers are decoded to."""

import json
from typing import Any

import msgspec
import pytest

from auditcoder.lifecycle.planning.planner_roles import PlannedCases, PlanOpinion
from auditcoder.lifecycle.planning.staged_planner import _STEPS
from auditcoder.lifecycle.response_formats import JsonValue, closed_schema
from auditcoder.lifecycle.validation.adjudication import ResultComparison
from auditcoder.lifecycle.validation.model_review import Opinions
from auditcoder.prompts import answer_schema
from auditcoder_bench.baselines.agentcoder import DesignedCases

ANSWERS: dict[str, Any] = {
    **{step.role.value: step.answer for step in _STEPS if step.answer},
    "test_case_analyzer": PlannedCases,
    "plan_reviewer": PlanOpinion,
    "verdict": Opinions,
    "adjudicator": ResultComparison,
}


def structure(schema: dict[str, Any]) -> Any:
    """Return a schema with its references resolved, without its names and descriptions."""
    definitions = schema.get("$defs", {})

    def resolve(part: Any) -> Any:
        if isinstance(part, list):
            return [resolve(item) for item in part]
        if not isinstance(part, dict):
            return part
        if reference := part.get("$ref"):
            return resolve(definitions[reference.removeprefix("#/$defs/")])
        return {
            key: {name: resolve(value) for name, value in kept.items()}
            if key == "properties"
            else resolve(kept)
            for key, kept in part.items()
            if key not in {"title", "description", "$defs"}
        }

    return resolve(schema)


@pytest.mark.parametrize("role", ANSWERS)
def test_a_stored_schema_describes_the_type_of_its_answer(role: str) -> None:
    stored, own = json.loads(answer_schema(role)), json.loads(closed_schema(ANSWERS[role]))
    assert structure(stored) == structure(own)


def test_the_schema_of_the_test_designer_describes_its_answer() -> None:
    stored = json.loads(answer_schema("test_designer", "auditcoder_bench.prompts"))
    assert structure(stored) == structure(json.loads(closed_schema(DesignedCases)))


def test_a_model_reads_the_stored_schema_and_not_the_name_of_a_class() -> None:
    schema = JsonValue(PlannedCases, answer_schema("test_case_analyzer")).schema
    assert '"Case"' in schema
    assert "PlannedCase" not in schema


def test_a_type_without_a_stored_schema_gives_its_own() -> None:
    class Colour(msgspec.Struct):
        """A colour."""

        name: str

    assert json.loads(JsonValue(Colour).schema)["$defs"]["Colour"]["required"] == ["name"]
