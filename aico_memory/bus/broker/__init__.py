"""The broker: journal, access and delivery behind one ROUTER and one XPUB."""

from aico_memory.bus.broker.broker import Broker, stop_on_signals

__all__ = ["Broker", "stop_on_signals"]
