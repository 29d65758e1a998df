/** All objects of a server, for tests that compare two servers. */
import assert from "node:assert/strict";
import type { Client } from "../client.ts";
import { eventually } from "../harness.ts";

type Objects = ReadonlyMap<string, Record<string, unknown>>;

/** Reads all objects that change only when somebody writes them, without their versions. */
export async function readAll(api: Client): Promise<Objects> {
  const all = new Map<string, Record<string, unknown>>();
  const read = async <T>(path: string, field: string): Promise<T> => {
    // kube-apiserver answers 429 at first for custom resources, whose storage it begins to read.
    const { text } = await eventually(async () => (await api.get(path)).expect(200));
    const body = JSON.parse(text) as Record<string, T>;
    return body[field]!; // every list and group has it
  };
  const groups = await read<{ versions: { groupVersion: string }[] }[]>("/apis", "groups");
  const bases = ["/api/v1", ...groups.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`))];
  for (const base of bases) {
    const resources = await read<{ name: string; verbs: string[] }[]>(base, "resources");
    for (const { name, verbs } of resources) {
      // Servers write Leases and Events about themselves, and component statuses say what runs now.
      if (!verbs.includes("list") || /^(?:leases|events|componentstatuses)$/.test(name)) continue;
      type Item = { metadata: Record<string, unknown> };
      for (const item of await read<Item[]>(`${base}/${name}`, "items")) {
        const { resourceVersion: _version, ...metadata } = item.metadata;
        all.set(`${base}/${name} ${String(metadata["namespace"])}/${String(metadata["name"])}`, { ...item, metadata });
      }
    }
  }
  return all;
}

/**
 * Whether servers and their controllers write an object: addresses, authorities, roles that are made of others, and the
 * status of flow schemas.
 */
const isOfServer = (name: string): boolean =>
  /(?:endpoints|endpointslices|services) default\/kubernetes$|\/flowschemas |\/extension-apiserver-authentication$|clusterroles \S+\/(?:admin|edit|view)$/.test(
    name,
  );

/** Asserts that all objects are the same but for what servers write about themselves, and that there are many. */
export function assertEqual(before: Objects, now: Objects): void {
  const differing = [...before].filter(([name, object]) => {
    if (isOfServer(name)) return false;
    try {
      assert.deepEqual(now.get(name), object);
      return false;
    } catch {
      return true;
    }
  });
  assert.deepEqual(
    differing.map(([name]) => name),
    [],
  );
  assert.ok(before.size > 150, `${before.size} objects`);
}
