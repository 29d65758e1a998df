/** Validates the sources of volumes. */
import type {
  AzureDiskVolumeSource,
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  FCVolumeSource,
  FlexVolumeSource,
  HostPathVolumeSource,
  ISCSIVolumeSource,
  KeyToPath,
  PersistentVolumeClaimTemplate,
  ProjectedVolumeSource,
  QuobyteVolumeSource,
  ServiceAccountTokenProjection,
  Volume,
} from "#api/core/v1.ts";
import { forbidden, goTexts, invalid, required, tooLong } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { parseQuantity } from "#meta/quantity.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { addAll } from "#std/add-all.ts";
import { nearestNumber } from "#std/int64.ts";
import { validateSignerName } from "../../certificates/signer-name.ts";
import { validateClaimSpec } from "../claim-spec.ts";
import {
  checkDescending,
  checkMode,
  checkName,
  checkNoBackstep,
  checkOneOf,
  checkOptionalName,
  checkOptionalOneOf,
  checkRange,
  checkReference,
  checkRequired,
  checkRequiredOneOf,
  checkVolumePath,
  type Errors,
} from "../../checks.ts";
import { checkFieldRef, checkResourceRef, fileFields } from "./downward.ts";

type SourceName = Exclude<keyof Volume, "name">;
type Source<K extends SourceName> = NonNullable<Volume[K]>;
type Check<K extends SourceName> = (source: Source<K>, path: FieldPath, errors: Errors) => void;

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

/** Checks a partition. The number 0 means no partition, although the message does not mention this. */
function checkPartition(partition: number | undefined, path: FieldPath, errors: Errors): void {
  if (partition !== 0) checkRange(partition, 1, 255, path, errors);
}

/** The checks by source, in upstream's order: the first source of a volume counts. */
const checks: { readonly [K in SourceName]: Check<K> } = {
  emptyDir: ({ sizeLimit }, path, errors) => {
    if (sizeLimit === undefined || (parseQuantity(sizeLimit)?.unscaled ?? 0n) >= 0n) return;
    errors.push(forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity"));
  },
  hostPath: checkHostPath,
  gitRepo: ({ repository, directory = "" }, path, errors) => {
    checkRequired(repository, path.child("repository"), errors);
    checkDescending(directory, path.child("directory"), errors);
  },
  gcePersistentDisk: ({ pdName, partition }, path, errors) => {
    checkRequired(pdName, path.child("pdName"), errors);
    checkPartition(partition, path.child("partition"), errors);
  },
  awsElasticBlockStore: ({ volumeID, partition }, path, errors) => {
    checkRequired(volumeID, path.child("volumeID"), errors);
    checkPartition(partition, path.child("partition"), errors);
  },
  secret: ({ secretName, defaultMode, items }, path, errors) => {
    checkRequired(secretName, path.child("secretName"), errors);
    checkMode(defaultMode, path.child("defaultMode"), errors);
    checkItems(items, path.child("items"), errors);
  },
  nfs: ({ server, path }, at, errors) => {
    checkRequired(server, at.child("server"), errors);
    checkRequired(path, at.child("path"), errors);
    if (!path.startsWith("/")) errors.push(invalid(at.child("path"), path, "must be an absolute path"));
  },
  iscsi: (source, path, errors) => checkIscsi(source, "pod", path, errors),
  glusterfs: ({ endpoints, path }, at, errors) => {
    checkRequired(endpoints, at.child("endpoints"), errors);
    checkRequired(path, at.child("path"), errors);
  },
  flocker: ({ datasetName = "", datasetUUID = "" }, path, errors) => {
    if (datasetName === "" && datasetUUID === "") {
      errors.push(required(path, "one of datasetName and datasetUUID is required"));
    }
    if (datasetName !== "" && datasetUUID !== "") {
      errors.push(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"));
    }
    if (datasetName.includes("/")) {
      errors.push(invalid(path.child("datasetName"), datasetName, "must not contain '/'"));
    }
  },
  persistentVolumeClaim: ({ claimName }, path, errors) => checkRequired(claimName, path.child("claimName"), errors),
  rbd: ({ monitors, image }, path, errors) => {
    if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors")));
    checkRequired(image, path.child("image"), errors);
  },
  cinder: ({ volumeID, secretRef }, path, errors) => {
    checkRequired(volumeID, path.child("volumeID"), errors);
    checkReference(secretRef, path.child("secretRef"), errors);
  },
  cephfs: ({ monitors }, path, errors) => {
    if ((monitors ?? []).length === 0) errors.push(required(path.child("monitors")));
  },
  quobyte: checkQuobyte,
  downwardAPI: ({ defaultMode, items = [] }, path, errors) => {
    checkMode(defaultMode, path.child("defaultMode"), errors);
    for (const item of items) checkFile(item, path, errors);
  },
  fc: checkFc,
  flexVolume: checkFlexVolume,
  configMap: ({ name, defaultMode, items }, path, errors) => {
    checkRequired(name, path.child("name"), errors);
    checkMode(defaultMode, path.child("defaultMode"), errors);
    checkItems(items, path.child("items"), errors);
  },
  azureFile: ({ secretName, shareName }, path, errors) => {
    checkRequired(secretName, path.child("secretName"), errors);
    checkRequired(shareName, path.child("shareName"), errors);
  },
  vsphereVolume: ({ volumePath }, path, errors) => checkRequired(volumePath, path.child("volumePath"), errors),
  photonPersistentDisk: ({ pdID }, path, errors) => checkRequired(pdID, path.child("pdID"), errors),
  portworxVolume: ({ volumeID }, path, errors) => checkRequired(volumeID, path.child("volumeID"), errors),
  azureDisk: checkAzureDisk,
  storageos: ({ volumeName, volumeNamespace, secretRef }, path, errors) => {
    checkRequired(volumeName, path.child("volumeName"), errors);
    checkOptionalName(volumeName, dns1123Label, path.child("volumeName"), errors);
    checkOptionalName(volumeNamespace, dns1123Label, path.child("volumeNamespace"), errors);
    checkReference(secretRef, path.child("secretRef"), errors);
  },
  projected: checkProjected,
  scaleIO: ({ gateway, system, volumeName }, path, errors) => {
    checkRequired(gateway, path.child("gateway"), errors);
    checkRequired(system, path.child("system"), errors);
    checkRequired(volumeName, path.child("volumeName"), errors);
  },
  csi: ({ driver, nodePublishSecretRef: ref }, path, errors) => {
    checkDriverName(driver, path.child("driver"), errors);
    if (ref === undefined) return;
    if (ref.name) checkName(ref.name, dns1123Subdomain, path.child("name"), errors);
    else errors.push(required(path.child("nodePublishSecretRef", "name")));
  },
  ephemeral: ({ volumeClaimTemplate: template }, path, errors) => {
    const at = path.child("volumeClaimTemplate");
    if (template === undefined) errors.push(required(at));
    else checkClaimTemplate(template, at, errors);
  },
  image: ({ pullPolicy }, path, errors) =>
    checkRequiredOneOf(pullPolicy, pullPolicies, path.child("pullPolicy"), errors),
};

export const sourceNames = Object.keys(checks) as readonly SourceName[]; // the keys of this object

/** Checks one source of a volume; `path` is the path of the volume. */
export function checkSource<K extends SourceName>(
  volume: { readonly [N in K]?: Source<N> },
  name: K,
  path: FieldPath,
  errors: Errors,
): void {
  const source: Source<K> | undefined = volume[name];
  if (source === undefined) return;
  // Upstream: messages have another name for this source.
  checks[name](source, path.child(name === "gcePersistentDisk" ? "persistentDisk" : name), errors);
}

/** Checks the name of a volume driver. */
export function checkDriverName(name: string, path: FieldPath, errors: Errors): void {
  checkRequired(name, path, errors);
  if (Buffer.byteLength(name) > 63) errors.push(tooLong(path, 63));
  for (const message of dns1123Subdomain(name.toLowerCase())) errors.push(invalid(path, name, message));
}

function checkHostPath({ path, type }: HostPathVolumeSource, at: FieldPath, errors: Errors): void {
  if (path === "") {
    errors.push(required(at.child("path")));
    return;
  }
  checkNoBackstep(path, at.child("path"), errors);
  checkOptionalOneOf(type, hostPathTypes, at.child("type"), errors);
}

function checkItems(items: readonly KeyToPath[] = [], path: FieldPath, errors: Errors): void {
  for (const [i, { key, path: file, mode }] of items.entries()) {
    const at = path.index(i);
    checkRequired(key, at.child("key"), errors);
    checkVolumePath(file, at.child("path"), errors);
    checkMode(mode, at.child("mode"), errors);
  }
}

/**
 * Checks a file of the downward API. `path` is the path of the volume's source, since upstream's paths have no index.
 */
function checkFile(item: DownwardAPIVolumeFile, path: FieldPath, errors: Errors): void {
  const { fieldRef, resourceFieldRef } = item;
  checkVolumePath(item.path, path.child("path"), errors);
  if (fieldRef !== undefined) {
    checkFieldRef(fieldRef, fileFields, path.child("fieldRef"), errors);
    if (resourceFieldRef !== undefined) {
      errors.push(invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (resourceFieldRef !== undefined) {
    checkResourceRef(resourceFieldRef, true, path.child("resourceFieldRef"), errors);
  } else errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  checkMode(item.mode, path.child("mode"), errors);
}

const runsBeforeColon = /(?<![A-Za-z0-9.-])[A-Za-z0-9.-]+(?=:[^])/g;

/**
 * Whether a text matches upstream's `iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`, which may begin anywhere. It
 * is matched in steps, since the time of this pattern is quadratic for long texts.
 */
function isIqn(name: string): boolean {
  const end = name.split(/[,;*&$|\t\n\f\r ]/).at(-1) ?? "";
  return (end.match(runsBeforeColon) ?? []).some((run) => /iqn\.\d{4}-\d{2}\../.test(run));
}

const isEui = (name: string): boolean => /^eui[^\n][A-Za-z0-9]{16}$/u.test(name);
const isNaa = (name: string): boolean => /^naa[^\n][A-Za-z0-9]{32}$/u.test(name);

/** Checks an iSCSI name. `unknown` is the message about names of an unknown type. */
function checkIscsiName(name: string, unknown: string, path: FieldPath, errors: Errors): void {
  const isForm = { iqn: isIqn, eui: isEui, naa: isNaa }[name.slice(0, 3)];
  if (isForm === undefined) errors.push(invalid(path, name, unknown));
  else if (!isForm(name)) errors.push(invalid(path, name, "must be valid format"));
}

/** Checks an iSCSI source; `owner` is the kind of the object that has it. */
export function checkIscsi(
  source: ISCSIVolumeSource,
  owner: "pod" | "persistentVolume",
  path: FieldPath,
  errors: Errors,
): void {
  const isOfPod = owner === "pod";
  const unknown = isOfPod ? "must be valid format starting with iqn, eui, or naa" : "must be valid format";
  const { targetPortal, iqn: target, lun, secretRef, initiatorName } = source;
  checkRequired(targetPortal, path.child("targetPortal"), errors);
  if (target === "") errors.push(required(path.child("iqn")));
  else checkIscsiName(target, unknown, path.child("iqn"), errors);
  checkRange(lun, 0, 255, path.child("lun"), errors);
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && secretRef === undefined) {
    errors.push(required(path.child("secretRef")));
  }
  if (!isOfPod) checkReference(secretRef, path.child("secretRef"), errors);
  if (initiatorName !== undefined) checkIscsiName(initiatorName, unknown, path.child("initiatorname"), errors);
}

/** The message about a volume whose interface name would be too long. */
export const iscsiInterfaceTooLong =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

/** Whether the volume has its own initiator, with which the name of its interface would be too long. */
export const hasLongInterface = (name: string, { initiatorName, targetPortal }: ISCSIVolumeSource): boolean =>
  initiatorName !== undefined && Buffer.byteLength(`${name}:${targetPortal}`) > 64;

const hasPort = (text: string): boolean => {
  const colon = text.lastIndexOf(":");
  return colon >= 0 && (text.indexOf(":") === colon || (text.startsWith("[") && text[colon - 1] === "]"));
};

function checkQuobyte({ registry, tenant = "", volume }: QuobyteVolumeSource, path: FieldPath, errors: Errors): void {
  const detail = "must be a host:port pair or multiple pairs separated by commas";
  const at = path.child("registry");
  if (registry === "") errors.push(required(at, detail));
  else if (Buffer.byteLength(tenant) >= 65) {
    errors.push(required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters"));
  } else if (!registry.split(",").every(hasPort)) errors.push(invalid(at, registry, detail));
  checkRequired(volume, path.child("volume"), errors);
}

function checkFc({ targetWWNs = [], wwids = [], lun }: FCVolumeSource, path: FieldPath, errors: Errors): void {
  const at = path.child("targetWWNs");
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.push(required(at, "must specify either targetWWNs or wwids, but not both"));
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    errors.push(invalid(at, goTexts(targetWWNs), "targetWWNs and wwids can not be specified simultaneously"));
  }
  if (targetWWNs.length === 0) return;
  if (lun === undefined) errors.push(required(path.child("lun"), "lun is required if targetWWNs is specified"));
  else checkRange(lun, 0, 255, path.child("lun"), errors);
}

function checkFlexVolume({ driver, options = {} }: FlexVolumeSource, path: FieldPath, errors: Errors): void {
  checkRequired(driver, path.child("driver"), errors);
  for (const key of Object.keys(options)) {
    const [namespace = ""] = key.split("/", 1);
    const normal = `.${namespace.toLowerCase()}`;
    if (!normal.endsWith(".kubernetes.io") && !normal.endsWith(".k8s.io")) continue;
    const detail = "kubernetes.io and k8s.io namespaces are reserved";
    errors.push(invalid(path.child("options").key(key), key, detail));
  }
}

function checkAzureDisk(source: AzureDiskVolumeSource, path: FieldPath, errors: Errors): void {
  const { diskName, diskURI, cachingMode, kind } = source;
  checkRequired(diskName, path.child("diskName"), errors);
  checkRequired(diskURI, path.child("diskURI"), errors);
  checkOptionalOneOf(cachingMode, ["None", "ReadOnly", "ReadWrite"], path.child("cachingMode"), errors);
  checkOptionalOneOf(kind, ["Dedicated", "Managed", "Shared"], path.child("kind"), errors);
  const [start, form] =
    kind === "Managed"
      ? [
          "/subscriptions/",
          "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ]
      : ["https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"];
  if (!diskURI.startsWith(start!)) checkOneOf(diskURI, [form!], path.child("diskURI"), errors); // two members each
}

function checkProjected({ defaultMode, sources }: ProjectedVolumeSource, path: FieldPath, errors: Errors): void {
  checkMode(defaultMode, path.child("defaultMode"), errors);
  const taken = new Set<string>();
  const take = (file: string, shown: string): void => {
    if (file === "") return;
    if (taken.has(file)) errors.push(invalid(path, shown, "conflicting duplicate paths"));
    taken.add(file);
  };
  for (const [i, source] of (sources ?? []).entries()) {
    const { secret, configMap, downwardAPI, serviceAccountToken: token, clusterTrustBundle: bundle } = source;
    const at = path.child("sources").index(i);
    const givenSources = [secret, configMap, downwardAPI, token, bundle].filter((each) => each !== undefined);
    for (const [name, holder] of [["secret", secret] as const, ["configMap", configMap] as const]) {
      if (holder === undefined) continue;
      checkRequired(holder.name, at.child(name, "name"), errors);
      checkItems(holder.items, at.child(name, "items"), errors);
      // Upstream: the message shows the object's name.
      for (const item of holder.items ?? []) take(item.path, holder.name ?? "");
    }
    for (const item of downwardAPI?.items ?? []) {
      checkFile(item, at.child("downwardAPI"), errors);
      take(item.path, item.path);
    }
    if (token !== undefined) checkToken(token, path, at, errors);
    if (bundle !== undefined) {
      checkTrustBundle(bundle, at.child("clusterTrustBundle"), errors);
      take(bundle.path, bundle.path);
    }
    if (givenSources.length > 1) errors.push(forbidden(at, "may not specify more than 1 volume type per source"));
  }
}

/** Checks a projected token. `path` is the path of the volume's source, `at` the path of the projected source. */
function checkToken(token: ServiceAccountTokenProjection, path: FieldPath, at: FieldPath, errors: Errors): void {
  const { expirationSeconds: seconds } = token;
  const secondsAt = at.child("serviceAccountToken", "expirationSeconds");
  if (seconds !== undefined && nearestNumber(seconds) < 600) {
    errors.push(invalid(secondsAt, seconds, "may not specify a duration less than 10 minutes"));
  }
  if (seconds !== undefined && nearestNumber(seconds) > 2 ** 32) {
    errors.push(invalid(secondsAt, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
  checkVolumePath(token.path, path.child("path"), errors);
}

/** Checks a trust bundle source, which names a bundle or a signer. */
function checkTrustBundle(bundle: ClusterTrustBundleProjection, path: FieldPath, errors: Errors): void {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined) {
    errors.push(invalid(path, bundle, "only one of name and signerName may be used"));
  } else if (name !== undefined) {
    if (name === "") errors.push(required(path.child("name"), "must be a valid object name"));
    for (const message of dns1123Subdomain(name.slice(name.lastIndexOf(":") + 1))) {
      errors.push(invalid(path.child("name"), name, `not a valid clustertrustbundlename: ${message}`));
    }
    if (labelSelector !== undefined) {
      errors.push(
        invalid(path.child("labelSelector"), labelSelector, "labelSelector must be unset if name is specified"),
      );
    }
  } else if (signerName !== undefined) {
    const at = path.child("signerName");
    if (signerName === "") errors.push(required(at, "must be a valid signer name"));
    addAll(errors, validateSignerName(at, signerName));
    if (labelSelector !== undefined) addAll(errors, validateLabelSelector(labelSelector, path.child("labelSelector")));
  } else errors.push(required(path, "either name or signerName must be specified"));
  checkVolumePath(bundle.path, path.child("path"), errors);
}

const noGates = {
  anyDataSource: false,
  attributesClass: false,
  recoverExpansion: false,
  snapshotGroup: "",
};

function checkClaimTemplate({ metadata, spec }: PersistentVolumeClaimTemplate, path: FieldPath, errors: Errors): void {
  const { annotations, labels, ...others } = metadata;
  const at = path.child("metadata");
  validateAnnotations(annotations, at.child("annotations"), errors);
  validateLabels(labels, at.child("labels"), errors);
  for (const [name, value] of Object.entries(others)) {
    if (value !== null) errors.push(forbidden(at.child(name === "uid" ? "uID" : name), "cannot be set")); // upstream's name
  }
  for (const error of validateClaimSpec(spec, noGates, path.child("spec"))) errors.push(error);
}
