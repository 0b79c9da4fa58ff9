"""Lists, watches, patches and applies with Debian's Python client. Prints what it saw as JSON; any surprise ends it."""
import json
import sys
import threading

from kubernetes import client, config, dynamic, watch

config.load_kube_config(sys.argv[1])
core = client.CoreV1Api()
seen = {"version": client.VersionApi().get_code().major}

core.create_namespaced_config_map("default", {"metadata": {"name": "py"}, "data": {"a": "1"}})
listed = core.list_namespaced_config_map("default", label_selector="!none")
seen["listed"] = [item.metadata.name for item in listed.items]

ready = threading.Event()
events = []


def follow():
    stream = watch.Watch()
    version = listed.metadata.resource_version
    ready.set()
    for event in stream.stream(core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=30):
        events.append([event["type"], event["object"].metadata.name, (event["object"].data or {}).get("a")])
        if event["type"] == "DELETED":
            stream.stop()


follower = threading.Thread(target=follow, daemon=True)
follower.start()
ready.wait()
seen["patched"] = core.patch_namespaced_config_map("py", "default", {"data": {"a": "2"}}).data
api = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")


def apply(body, manager):
    # This client sends other content types than plain JSON only as text.
    return api.server_side_apply(name="py", namespace="default", body=json.dumps(body), field_manager=manager)


applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "py"}, "data": {"b": "3"}}
result = apply(applied, "py-applier")
seen["applied"] = result.to_dict()["data"]
seen["managers"] = sorted([m.manager, m.operation] for m in result.metadata.managedFields if m.manager == "py-applier")
try:
    apply({**applied, "data": {"a": "9"}}, "py-other")
except dynamic.exceptions.ConflictError as conflict:
    seen["conflict"] = json.loads(conflict.body)["details"]["causes"][0]["field"]
core.delete_namespaced_config_map("py", "default")
follower.join(30)
seen["events"] = events
print(json.dumps(seen))
