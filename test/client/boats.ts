/** A custom resource for tests of the client library: boats, as `binnacle types` would print them. */
import type { Cluster } from "#client/cluster.ts";
import type { Kind, StoredMeta } from "#client/kind.ts";
import { CustomResourceDefinition } from "#client/kinds.ts";

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
  const definitions = cluster.kind(CustomResourceDefinition);
  const { group, version, kind, resource: plural } = Boat;
  const name = `${plural}.${group}`;
  await definitions.apply(
    {
      metadata: { name },
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
    },
    { force: true },
  );
  await definitions.until(
    name,
    (definition) =>
      definition?.status.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false,
  );
}
