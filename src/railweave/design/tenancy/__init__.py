"""Tenants: the tenant of each NIC, layer-2 networks, and external routers."""
