"""Reading the weights of the reader; the home's own file stands for the shipped one."""

from __future__ import annotations

from aico_memory.domain.recall.reading.reader import ReaderWeights, reader_weights
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.paths import Home, config_file

FILE = "reader.yaml"


def load_reader(home: Home) -> ReaderWeights:
    """The weights of `reader.yaml`; ConfigurationInvalid names the file and what is wrong."""
    path = config_file(home, FILE)
    try:
        return reader_weights(read_mapping(path))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ConfigurationInvalid(f"{path} holds no weights of a reader: {error}") from error
