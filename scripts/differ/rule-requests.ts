/** Sends definitions of custom resources with rules, and their objects, to both servers, and compares the answers. */
import { ruleCase } from "./rules.ts";
import type { Comparison, Json } from "./servers.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const definition = (group: string, schema: Json): Json => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

/** Sends the case with this number. */
export async function compareRules(comparison: Comparison, seed: number): Promise<void> {
  const { schema, objects } = ruleCase(seed);
  const group = `differ${seed}.example.com`;
  const path = `/apis/${group}/v1/widgets`;
  const code = await comparison.ask(`seed ${seed}: definition`, "POST", definitions, () => definition(group, schema));
  try {
    if (code !== 201) return;
    await comparison.waitForCode(200, "GET", path);
    await compareObjects(comparison, path, group, objects, seed);
  } finally {
    await comparison.askEach("DELETE", `${definitions}/widgets.${group}`);
  }
}

/** Creates the first accepted object, and replaces it by each of the others. */
async function compareObjects(
  comparison: Comparison,
  path: string,
  group: string,
  objects: readonly Json[],
  seed: number,
): Promise<void> {
  let isThere = false;
  for (const [at, object] of objects.entries()) {
    const body = { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "w" }, ...object };
    const what = `seed ${seed}: object ${at}`;
    if (!isThere) {
      isThere = (await comparison.ask(`${what} created`, "POST", path, () => body)) === 201;
      continue;
    }
    const versions = (await comparison.askEach("GET", `${path}/w`)).map((answer) => answer.body["metadata"] as Json);
    const next = (server: number): Json => ({
      ...body,
      metadata: { name: "w", labels: { at: String(at) }, resourceVersion: versions[server]!["resourceVersion"] },
    });
    await comparison.ask(`${what} replaced`, "PUT", `${path}/w`, next);
  }
}
