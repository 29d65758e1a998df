/** A custom resource for tests of the client library: boats, as `binnacle types` would print them. */
import type { Cluster } from "#client/cluster.ts";
import type { Draft } from "#client/draft.ts";
import type { Kind, StoredMeta } from "#client/kind.ts";
import { CustomResourceDefinition } from "#client/kinds.ts";
import { startsServers } from "../harness.ts";
import { runLabels } from "./open-cluster.ts";
import { removeDefinition } from "./remove-definition.ts";

/** A vessel that the harbour looks after. */
export interface Boat {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
  readonly spec: BoatSpec;
  readonly status?: BoatStatus;
}

interface BoatSpec {
  /** The length in metres. */
  readonly length: number;
  readonly rig?: "gaff" | "marconi";
  readonly crew?: readonly string[];
}

interface BoatStatus {
  readonly afloat?: boolean;
}

export const Boat: Kind<Boat> = {
  group: "harbour.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["length"],
      properties: {
        length: { type: "integer" },
        rig: { type: "string" },
        crew: { type: "array", items: { type: "string" } },
      },
    },
    status: { type: "object", properties: { afloat: { type: "boolean" } } },
  },
};

/** Defines the kind, if the cluster does not have it, and waits until it is served. */
export async function defineBoats(cluster: Cluster): Promise<void> {
  const { group, version, kind, resource: plural } = Boat;
  await define(cluster, {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  });
}

/** The names of definitions that this file has made on a server that it did not start. */
const made = new Set<string>();

/**
 * Applies a definition, and waits until it is served. On a server that the file did not start, one that an earlier file
 * left is removed first, since a schema may be in force for a while after it was replaced.
 */
export async function define(cluster: Cluster, { metadata, spec }: Draft<CustomResourceDefinition>): Promise<void> {
  const definitions = cluster.kind(CustomResourceDefinition);
  const { name = "" } = metadata ?? {};
  if (!startsServers && !made.has(name)) {
    await removeDefinition(cluster, name);
    made.add(name);
  }
  await definitions.apply({ metadata: { name, labels: runLabels }, spec }, { force: true });
  await definitions.until(
    name,
    (definition) =>
      definition?.status.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false,
  );
}
