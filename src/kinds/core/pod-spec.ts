/**
 * Defaults of pod specs, in pods and in the templates of workloads. Defaults from admission (tolerations, accounts,
 * priorities) are not here. Source: upstream's `pkg/apis/core/v1/defaults.go`.
 */
import type {
  Container,
  ContainerPort,
  DownwardAPIVolumeFile,
  EnvVar,
  EnvVarSource,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  ObjectFieldSelector,
  PodSpec,
  PodTemplateSpec,
  Probe,
  ResourceRequirements,
  Volume,
} from "#api/core/v1.ts";
import { type ObjectMeta, withoutAnnotations } from "#meta/object-meta.ts";
import { formatQuantity } from "#meta/quantity.ts";
import { editField, editItems, editList, fillAbsent, fillZero, isZero, withField, withFields } from "../edit.ts";
import { roundAmounts, roundResources } from "./amounts.ts";
import { pullPolicy } from "./image-name.ts";
import { containerRequests } from "./pod-requests.ts";

const fileModes = { defaultMode: 0o644 };

/** Fills in the defaults of a pod spec, its containers and volumes. */
export const defaultPodSpec = (spec: PodSpec): PodSpec => defaultSpec(spec, defaultContainer, spec.enableServiceLinks);

/** Fills in the defaults of a spec; `ofContainer` fills in those of a container that the kubelet starts by itself. */
function defaultSpec(
  spec: PodSpec,
  ofContainer: (container: Container) => Container,
  enableServiceLinks: boolean | undefined,
): PodSpec {
  const next = withFields(
    spec,
    {
      enableServiceLinks,
      dnsPolicy: spec.dnsPolicy || "ClusterFirst",
      restartPolicy: spec.restartPolicy || "Always",
      schedulerName: spec.schedulerName || "default-scheduler",
      securityContext: spec.securityContext ?? {},
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
      overhead: spec.overhead && roundAmounts(spec.overhead),
      resources: spec.resources && roundResources(spec.resources),
      volumes: editList(spec.volumes, defaultVolume),
      ephemeralContainers: editList(spec.ephemeralContainers, defaultContainer),
      containers: editList(spec.containers, ofContainer),
      initContainers: editList(spec.initContainers, ofContainer),
    },
    (one) => ({ ...one }),
  );
  return mirrorAccount(next);
}

export const defaultPodTemplate = (template: PodTemplateSpec): PodTemplateSpec =>
  editField(editField(template, "spec", defaultPodSpec), "metadata", withoutOldAnnotations);

/** The name of an old annotation, in any domain. */
const oldAnnotation = /^pod\.(?:alpha|beta)\.[^/]+\/init-container(?:s|-statuses)$/;

/** Returns the metadata of a pod or template without the annotations that once held init containers. */
export const withoutOldAnnotations = (metadata: ObjectMeta): ObjectMeta =>
  withoutAnnotations(metadata, (name) => oldAnnotation.test(name));

/** Copies the name of the service account to the deprecated field, or from it. */
function mirrorAccount(spec: PodSpec): PodSpec {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return spec;
  return withField(withField(spec, "serviceAccountName", name), "serviceAccount", name);
}

const withHostPorts = (container: Container): Container =>
  editItems(container, "ports", (port) => fillZero(port, { hostPort: port.containerPort }));

function defaultContainer(container: Container): Container {
  const { resources, livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return withFields(
    container,
    {
      terminationMessagePath: container.terminationMessagePath || "/dev/termination-log",
      terminationMessagePolicy: container.terminationMessagePolicy || "File",
      // The name of the image decides only where nothing is said.
      imagePullPolicy: container.imagePullPolicy || pullPolicy(container.image ?? ""),
      resources: resources && roundResources(resources),
      ports: editList(container.ports, defaultPort),
      env: editList(container.env, defaultVariable),
      livenessProbe: livenessProbe && defaultProbe(livenessProbe),
      readinessProbe: readinessProbe && defaultProbe(readinessProbe),
      startupProbe: startupProbe && defaultProbe(startupProbe),
      lifecycle: lifecycle && defaultLifecycle(lifecycle),
    },
    (one) => ({ ...one }),
  );
}

const defaultPort = (port: ContainerPort): ContainerPort => fillZero(port, { protocol: "TCP" });

const defaultVariable = (variable: EnvVar): EnvVar => editField(variable, "valueFrom", defaultSource);
const defaultSource = (from: EnvVarSource): EnvVarSource => editField(from, "fieldRef", defaultFieldRef);

const defaultProbe = (probe: Probe): Probe =>
  withFields(
    probe,
    {
      timeoutSeconds: probe.timeoutSeconds || 1,
      periodSeconds: probe.periodSeconds || 10,
      successThreshold: probe.successThreshold || 1,
      failureThreshold: probe.failureThreshold || 3,
      httpGet: probe.httpGet && defaultHttpGet(probe.httpGet),
      grpc: probe.grpc && fillAbsent(probe.grpc, { service: "" }),
    },
    (one) => ({ ...one }),
  );

const defaultLifecycle = (lifecycle: Lifecycle): Lifecycle =>
  editField(editField(lifecycle, "postStart", defaultHandler), "preStop", defaultHandler);
const defaultHandler = (handler: LifecycleHandler): LifecycleHandler => editField(handler, "httpGet", defaultHttpGet);
const defaultHttpGet = (get: HTTPGetAction): HTTPGetAction => fillZero(get, { path: "/", scheme: "HTTP" });
const defaultFieldRef = (ref: ObjectFieldSelector): ObjectFieldSelector => fillZero(ref, { apiVersion: "v1" });

const withFieldRef = (file: DownwardAPIVolumeFile): DownwardAPIVolumeFile =>
  editField(file, "fieldRef", defaultFieldRef);

type SourceName =
  | "secret"
  | "configMap"
  | "downwardAPI"
  | "projected"
  | "hostPath"
  | "iscsi"
  | "rbd"
  | "scaleIO"
  | "azureDisk"
  | "ephemeral"
  | "image";

/** The sources with defaults. Persistent volumes have the same types of these sources. */
type VolumeSources = { readonly [K in SourceName]: NonNullable<Volume[K]> };

const sourceDefaults: { readonly [K in SourceName]: (source: VolumeSources[K]) => VolumeSources[K] } = {
  secret: (source) => fillAbsent(source, fileModes),
  configMap: (source) => fillAbsent(source, fileModes),
  downwardAPI: (source) => editItems(fillAbsent(source, fileModes), "items", withFieldRef),
  projected: (source) =>
    editItems(fillAbsent(source, fileModes), "sources", (part) =>
      editField(
        editField(part, "serviceAccountToken", (token) => fillAbsent(token, { expirationSeconds: 3600 })),
        "downwardAPI",
        (downward) => editItems(downward, "items", withFieldRef),
      ),
    ),
  hostPath: (source) => fillAbsent(source, { type: "" }),
  iscsi: (source) => fillZero(source, { iscsiInterface: "default" }),
  rbd: (source) => fillZero(source, { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" }),
  scaleIO: (source) => fillZero(source, { storageMode: "ThinProvisioned", fsType: "xfs" }),
  azureDisk: (source) =>
    fillAbsent(source, { cachingMode: "ReadWrite", kind: "Shared", fsType: "ext4", readOnly: false }),
  ephemeral: (source) =>
    editField(source, "volumeClaimTemplate", (template) =>
      editField(template, "spec", (spec) => fillAbsent(spec, { volumeMode: "Filesystem" })),
    ),
  image: (source) => fillZero(source, { pullPolicy: pullPolicy(source.reference ?? "") }),
};

/** Fills in the defaults of all volume sources. The spec of a persistent volume also has such sources. */
export function defaultVolumeSources<T extends Partial<VolumeSources>>(holder: T): T {
  let next: Partial<VolumeSources> = holder;
  for (const name in holder) {
    if (Object.hasOwn(sourceDefaults, name)) next = withSourceDefaults(next, name as string as SourceName); // of these keys
  }
  return next as T; // the holder with other values of these fields
}

function withSourceDefaults<K extends SourceName>(holder: Partial<VolumeSources>, name: K): Partial<VolumeSources> {
  const source: VolumeSources[K] | undefined = holder[name];
  return source === undefined ? holder : withField(holder, name, sourceDefaults[name](source));
}

function defaultVolume(volume: Volume): Volume {
  const isBare = Object.keys(volume).every((name) => name === "name");
  return isBare ? withField(volume, "emptyDir", {}) : defaultVolumeSources(volume);
}

/** The defaults of pods that depend on feature gates; `true` if the gate is on. */
export interface PodDefaults {
  readonly resizePolicy: boolean;
  readonly podResources: boolean;
}

/** Fills in the defaults that pods have and templates do not: for example, requests default to limits. */
export function defaultPod(spec: PodSpec, has: PodDefaults): PodSpec {
  const ofContainer = spec.hostNetwork === true ? defaultHostContainer : defaultPodContainer;
  let next = defaultSpec(spec, ofContainer, spec.enableServiceLinks ?? true);
  if (has.resizePolicy) next = editItems(next, "containers", withResizePolicy);
  return has.podResources ? withPodRequests(next) : next;
}

const defaultPodContainer = (container: Container): Container =>
  editField(defaultContainer(container), "resources", withRequests);

const defaultHostContainer = (container: Container): Container => withHostPorts(defaultPodContainer(container));

const withRequests = (resources: ResourceRequirements): ResourceRequirements =>
  Object.keys(resources.limits ?? {}).length === 0
    ? resources
    : withField(resources, "requests", fillAbsent(resources.requests ?? {}, resources.limits!)); // there are limits

const ofWholePods = ["cpu", "memory"] as const;

/**
 * Returns the spec with default requests of the pod, if it has limits: the sum of its containers' requests, else its
 * limits.
 */
function withPodRequests(spec: PodSpec): PodSpec {
  const { limits = {}, requests = {} } = spec.resources ?? {};
  if (Object.keys(limits).length === 0) return spec;
  const ofContainers = containerRequests(spec);
  const wanted = ofWholePods.flatMap((name) => {
    const sum = ofContainers.get(name);
    const amount = sum === undefined ? limits[name] : formatQuantity(sum);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return withField(spec, "resources", {
    ...spec.resources,
    requests: fillAbsent(requests, Object.fromEntries(wanted)),
  });
}

function withResizePolicy(container: Container): Container {
  const { resources, resizePolicy = [] } = container;
  const missing = ["cpu", "memory"].filter(
    (name) => !isZero(resources.requests?.[name]) && !resizePolicy.some((policy) => policy.resourceName === name),
  );
  if (missing.length === 0) return container;
  const added = missing.map((resourceName) => ({ resourceName, restartPolicy: "NotRequired" }));
  return withField(container, "resizePolicy", [...resizePolicy, ...added]);
}
