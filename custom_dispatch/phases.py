"""What long work is at: Python's logger `custom_dispatch`, at the level INFO."""

import logging

LOGGER = logging.getLogger("custom_dispatch")
say = LOGGER.info
"""Says what begins now, and may take long; nobody hears it who does not ask."""
