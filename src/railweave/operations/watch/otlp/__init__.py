"""Sending of metrics and logs to a receiver of OpenTelemetry, by OTLP over HTTP (docs/watch.md)."""
