"""scim2-tester against /scim/v2: every check must succeed."""

import os
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

headers = {"Authorization": f"Bearer {os.environ['HEADGATE_SCIM_TOKEN']}"}
scim = SyncSCIMClient(httpx2.Client(base_url=f"{os.environ['HEADGATE_URL']}/scim/v2", headers=headers))
scim.discover()
results = check_server(scim)
failures = [result for result in results if result.status != Status.SUCCESS]
for result in failures:
    print(result.status.name, result.resource_type, result.title, result.reason, file=sys.stderr)
# A run without checks proves nothing.
print(f"{len(results)} checks")
sys.exit(1 if failures or len(results) < 100 else 0)
