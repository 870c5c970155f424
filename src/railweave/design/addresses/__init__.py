"""Allocation of numbers and prefixes to switches, links, server segments, NICs and tunnel endpoints."""
