"""Every write of telemetry: what arrived becomes rows, each record once."""
