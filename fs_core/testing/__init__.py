"""Shipped test tools: conformance suite, memory backend, latency and fault wrappers, for any backend's authors."""
