# Clients in other languages. `make` does not build them: pip does (clients/python/README.md).
EXTRA_DIST += clients/python/README.md clients/python/pyproject.toml clients/python/setup.py clients/python/src/fabricd/__init__.py \
	clients/python/src/fabricd/aio.py clients/python/src/fabricd/arguments.py clients/python/src/fabricd/calls.py \
	clients/python/src/fabricd/connection.py clients/python/src/fabricd/errors.py clients/python/src/fabricd/fabric.py \
	clients/python/src/fabricd/guard.py clients/python/src/fabricd/ib_kubernetes.py clients/python/src/fabricd/policy.py doc/fabricd-ib-kubernetes.8 \
	clients/python/src/fabricd/py.typed clients/python/src/fabricd/text.py clients/python/src/fabricd/v1/__init__.py \
	clients/python/src/fabricd/watch.py clients/python/examples/chat_webhook.py \
	clients/python/examples/drain_for_maintenance.py clients/python/examples/inventory_csv.py \
	clients/python/examples/slurm_topology_on_change.py clients/python/examples/tenant_partition.py
