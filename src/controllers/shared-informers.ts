/**
 * Collections that several controllers follow: pods, nodes and services, with only the fields they read. Each is followed
 * from its first use on.
 */
import type { Container, Node, Pod, Service } from "#api/core/v1.ts";
import type { Informer } from "#client/informer.ts";
import { type ObjectMeta, withoutAnnotations } from "#meta/object-meta.ts";
import { dropUndefined } from "#std/drop-undefined.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { openInformer } from "./reconcile.ts";

export class SharedInformers {
  readonly #environment: Omit<ControllerEnvironment, "client">;
  #pods: Informer<Pod> | undefined;
  #nodes: Informer<Node> | undefined;
  #services: Informer<Service> | undefined;

  constructor(environment: Omit<ControllerEnvironment, "client">) {
    this.#environment = environment;
  }

  /**
   * Pods with their containers that have ports, ephemeral volumes by name, references to resource claims, the
   * conditions `Ready` and `DisruptionTarget`, and the owner that controls them.
   */
  get pods(): Informer<Pod> {
    return (this.#pods ??= openInformer<Pod>(this.#environment, {
      what: "pods",
      path: "/api/v1/pods",
      trim: trimmedPod,
    }));
  }

  /** Nodes with labels, taints, allocatable resources, and the condition `Ready`. */
  get nodes(): Informer<Node> {
    return (this.#nodes ??= openInformer<Node>(this.#environment, {
      what: "nodes",
      path: "/api/v1/nodes",
      trim: trimmedNode,
    }));
  }

  get services(): Informer<Service> {
    return (this.#services ??= openInformer<Service>(this.#environment, {
      what: "services",
      path: "/api/v1/services",
      trim: trimmedService,
    }));
  }
}

/**
 * Leaves out the annotation with the last applied configuration, which can be as large as the object, and which no
 * controller reads.
 */
const trimmedMeta = ({ managedFields: _, ...metadata }: ObjectMeta): ObjectMeta =>
  withoutAnnotations(metadata, (name) => name.endsWith("/last-applied-configuration"));

const trimmedService = (service: Service): Service => ({ ...service, metadata: trimmedMeta(service.metadata) });

const podConditions = new Set(["Ready", "DisruptionTarget"]);

function trimmedPod({ metadata, spec, status }: Pod): Pod {
  const { annotations: _, finalizers: __, ownerReferences, ...rest } = trimmedMeta(metadata);
  const controller = ownerReferences?.filter((owner) => owner.controller === true) ?? [];
  const { nodeName, hostname, subdomain, resourceClaims, containers, initContainers, volumes } = spec;
  const restarted = withPorts(initContainers).filter(({ restartPolicy }) => restartPolicy === "Always");
  const ephemeral = volumes?.filter((volume) => volume.ephemeral !== undefined) ?? [];
  const { phase, reason, podIP, podIPs, conditions, resourceClaimStatuses } = status;
  return dropUndefined<Pod>({
    metadata: controller.length === 0 ? rest : { ...rest, ownerReferences: controller },
    spec: dropUndefined({
      nodeName,
      hostname,
      subdomain,
      resourceClaims,
      containers: withPorts(containers),
      initContainers: restarted.length === 0 ? undefined : restarted,
      volumes: ephemeral.length === 0 ? undefined : ephemeral.map(({ name }) => ({ name, ephemeral: {} })),
    }),
    status: dropUndefined({
      phase,
      reason,
      podIP: podIPs === undefined ? podIP : undefined,
      podIPs,
      resourceClaimStatuses,
      conditions: conditions?.filter(({ type }) => podConditions.has(type)),
    }),
  });
}

// All pods share this list; there may be many.
const none: readonly never[] = [];
const noResources = {};

function withPorts(containers: readonly Container[] | null | undefined): readonly Container[] {
  const some = containers?.filter(({ ports }) => ports !== undefined) ?? none;
  if (some.length === 0) return none;
  return some.map(({ name, ports, restartPolicy }) =>
    dropUndefined<Container>({ name, resources: noResources, ports, restartPolicy }),
  );
}

function trimmedNode({ metadata, spec, status }: Node): Node {
  const { labels, name, uid, resourceVersion } = metadata;
  const cpu = status.allocatable?.["cpu"];
  return dropUndefined<Node>({
    metadata: dropUndefined({ name, uid, resourceVersion, labels }),
    spec: dropUndefined({ taints: spec.taints }),
    status: dropUndefined({
      allocatable: cpu === undefined ? undefined : { cpu },
      conditions: status.conditions?.filter(({ type }) => type === "Ready"),
      daemonEndpoints: status.daemonEndpoints,
      nodeInfo: status.nodeInfo,
    }),
  });
}
