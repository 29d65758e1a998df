/**
 * Defaults of pod specs, wherever they occur: pods and the templates of all workloads. Source: upstream's
 * `pkg/apis/core/v1/defaults.go`. What only admission fills in (tolerations, accounts, priorities) is not here.
 */
import {
  editField,
  editItems,
  fillAbsent,
  fillZero,
  isAbsent,
  isZero,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";

const fileMode = 0o644;
const portLists = ["containers", "initContainers"];

/** Defaults of a pod spec, its containers and volumes. */
export function defaultPodSpec(spec: Json): Json {
  let next = fillZero(spec, { dnsPolicy: "ClusterFirst", restartPolicy: "Always", schedulerName: "default-scheduler" });
  next = fillAbsent(next, { securityContext: {}, terminationGracePeriodSeconds: 30 });
  next = mirrorAccount(next);
  next = editItems(next, "volumes", defaultVolume);
  for (const list of [...portLists, "ephemeralContainers"]) next = editItems(next, list, defaultContainer);
  if (next["hostNetwork"] === true) {
    for (const list of portLists) next = editItems(next, list, (container) => editItems(container, "ports", hostPort));
  }
  return next;
}

export function defaultPodTemplate(template: Json): Json {
  return withField(template, "spec", defaultPodSpec(objectField(template, "spec") ?? noFields));
}

/** The field's old name shows the same. */
function mirrorAccount(spec: Json): Json {
  const name = textField(spec, "serviceAccountName") || textField(spec, "serviceAccount");
  if (name === "") return spec;
  return withField(withField(spec, "serviceAccountName", name), "serviceAccount", name);
}

const hostPort = (port: Json): Json => fillZero(port, { hostPort: port["containerPort"] });

function defaultContainer(container: Json): Json {
  let next = fillZero(container, {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicy(textField(container, "image")),
  });
  next = editItems(next, "ports", (port) => fillZero(port, { protocol: "TCP" }));
  next = editItems(next, "env", (variable) =>
    editField(variable, "valueFrom", (from) => editField(from, "fieldRef", defaultFieldRef)),
  );
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) next = editField(next, probe, defaultProbe);
  return editField(next, "lifecycle", (lifecycle) => {
    const hook = (handler: Json): Json => editField(handler, "httpGet", defaultHttpGet);
    return editField(editField(lifecycle, "postStart", hook), "preStop", hook);
  });
}

/** `Always` for images that may change under their name: tag `latest`, or neither tag nor digest. */
export function pullPolicy(image: string): "Always" | "IfNotPresent" {
  if (image === "") return "IfNotPresent";
  const at = image.indexOf("@");
  const named = at < 0 ? image : image.slice(0, at);
  const last = named.slice(named.lastIndexOf("/") + 1);
  const colon = last.indexOf(":");
  const tag = colon < 0 ? "" : last.slice(colon + 1);
  return tag === "latest" || (tag === "" && at < 0) ? "Always" : "IfNotPresent";
}

function defaultProbe(probe: Json): Json {
  let next = fillZero(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  next = editField(next, "httpGet", defaultHttpGet);
  return editField(next, "grpc", (grpc) => fillAbsent(grpc, { service: "" }));
}

const defaultHttpGet = (get: Json): Json => fillZero(get, { path: "/", scheme: "HTTP" });
const defaultFieldRef = (ref: Json): Json => fillZero(ref, { apiVersion: "v1" });

const withFieldRefs = (holder: Json): Json =>
  editItems(holder, "items", (item) => editField(item, "fieldRef", defaultFieldRef));
const withMode = (source: Json): Json => fillAbsent(source, { defaultMode: fileMode });

/** Defaults of one kind of volume source; sources of persistent volumes have the same. */
const sources: Readonly<Record<string, (source: Json) => Json>> = {
  secret: withMode,
  configMap: withMode,
  downwardAPI: (source) => withFieldRefs(withMode(source)),
  projected: (source) =>
    editItems(withMode(source), "sources", (part) =>
      editField(
        editField(part, "serviceAccountToken", (token) => fillAbsent(token, { expirationSeconds: 3600 })),
        "downwardAPI",
        withFieldRefs,
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
  image: (source) => fillZero(source, { pullPolicy: pullPolicy(textField(source, "reference")) }),
};

/** Defaults of whatever sources a volume, or the spec of a persistent one, has. */
export function defaultVolumeSources(holder: Json): Json {
  let next = holder;
  for (const name of Object.keys(sources)) next = editField(next, name, sources[name]!);
  return next;
}

function defaultVolume(volume: Json): Json {
  const isBare = Object.keys(volume).every((name) => name === "name" || isAbsent(volume[name]));
  return isBare ? withField(volume, "emptyDir", {}) : defaultVolumeSources(volume);
}

/** What only pods themselves get: requests follow limits. */
export function defaultPod(spec: Json, options: { readonly resizePolicy: boolean }): Json {
  let next = defaultPodSpec(fillAbsent(spec, { enableServiceLinks: true }));
  for (const list of portLists) {
    next = editItems(next, list, (container) => {
      const requested = editField(container, "resources", (resources) => {
        const limits = objectField(resources, "limits");
        if (limits === undefined || Object.keys(limits).length === 0) return resources;
        return withField(resources, "requests", fillAbsent(objectField(resources, "requests") ?? noFields, limits));
      });
      return options.resizePolicy ? withResizePolicy(requested) : requested;
    });
  }
  return next;
}

function withResizePolicy(container: Json): Json {
  const resources = objectField(container, "resources");
  const requests = resources === undefined ? undefined : objectField(resources, "requests");
  const policies = listField(container, "resizePolicy");
  const missing = ["cpu", "memory"].filter(
    (name) => !isZero(requests?.[name]) && !policies.some((policy) => policy["resourceName"] === name),
  );
  if (missing.length === 0) return container;
  const added = missing.map((resourceName) => ({ resourceName, restartPolicy: "NotRequired" }));
  return withField(container, "resizePolicy", [...policies, ...added]);
}
