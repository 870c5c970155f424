"""Tenants: whose each NIC is, their layer-2 networks, routers outside."""
