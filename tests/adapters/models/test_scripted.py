"""The scripted model conforms to the port."""

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.domain.errors import ModelMisconfigured
from auditcoder.lifecycle.ports import Model
from tests.conformance.model import HELLO, ModelConformance, answer


class TestScriptedModel(ModelConformance):
    @pytest.fixture
    def model(self) -> Model:
        return ScriptedModel([answer] * 10)

    def test_an_exhausted_script_is_reported(self) -> None:
        with pytest.raises(ModelMisconfigured, match="no line for request 1"):
            ScriptedModel([]).complete(HELLO)
