/** A tool for fleets, whose data is in an API server that runs only while the tool does. */
import { join } from "node:path";
import { startServer } from "binnacle";
import { ApiError, connect, type Kind, type StoredObject } from "binnacle/client";
import { CustomResourceDefinition } from "binnacle/client/kinds";

interface Boat extends StoredObject {
  readonly spec: { readonly berth: string };
}

const Boat: Kind<Boat> = {
  group: "fleet.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

const definition = {
  metadata: { name: "boats.fleet.example.com" },
  spec: {
    group: Boat.group,
    scope: "Namespaced" as const,
    names: { plural: "boats", kind: "Boat" },
    versions: [
      {
        name: Boat.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                required: ["berth"],
                properties: { berth: { type: "string", pattern: "^[A-Z][0-9]+$" } },
              },
            },
          },
        },
      },
    ],
  },
};

const [command = "", name = "", berth = ""] = process.argv.slice(2);
const folder = process.env["FLEET_FOLDER"] ?? ".fleet";

// A folder belongs to one process at a time: a second tool is refused until the first one ends.
const server = await startServer({ dataDir: folder, securePort: 0, apiDomain: "k8s.io" });
const cluster = await connect({ kubeconfig: join(folder, "admin.kubeconfig"), manager: "fleet" });
try {
  await cluster.kind(CustomResourceDefinition).apply(definition);
  await cluster.kind(CustomResourceDefinition).until(definition.metadata.name, isServed, { timeout: "30s" });
  const boats = cluster.kind(Boat).in("default");
  if (command === "add") {
    await boats.apply({ metadata: { name }, spec: { berth } });
    console.log(`${name} lies at ${berth}`);
  } else if (command === "list") {
    for await (const boat of boats.list()) console.log(`${boat.metadata.name}\t${boat.spec.berth}`);
  } else if (command === "serve") {
    console.log(`export KUBECONFIG=${join(folder, "admin.kubeconfig")}`);
    await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  } else {
    console.error("usage: fleet add NAME BERTH | list | serve");
    process.exitCode = 2;
  }
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.error(error.said);
  process.exitCode = 1;
} finally {
  await cluster.close();
  await server.close();
}

function isServed(one: CustomResourceDefinition | undefined): boolean {
  return one?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") === true;
}
