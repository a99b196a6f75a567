"""Build hook that makes the wheel depend on the product of the same version."""

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersionHook(MetadataHookInterface):
    """Adds the dependency on the product to the metadata of the wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Depend on the product of the same version."""
        metadata["dependencies"] = [f"auditcoder=={metadata['version']}"]
