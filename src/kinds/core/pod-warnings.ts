/**
 * Warnings about pods and templates: settings that are allowed but probably mistakes. Source: the answers of
 * kube-apiserver.
 */
import type {
  Container,
  ContainerPort,
  PersistentVolumeClaimSpec,
  PodSpec,
  PodTemplateSpec,
  Volume,
} from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { formatQuantity, parseQuantity, plainThousandths, type Quantity } from "#meta/quantity.ts";
import { dns1123Label } from "#meta/names.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import { addAll } from "#std/add-all.ts";
import { nearestNumber } from "#std/int64.ts";
import { warningAt } from "../checks.ts";
import { keyWarnings, type NodeLabels, nodeLabels } from "../node-labels.ts";
import { nodeLabelWarnings } from "./label-warnings.ts";
import { securityAnnotationWarnings } from "./security-annotations.ts";
import { overlapWarnings, overlapWarningsMax } from "./volume-path-warnings.ts";

const templatePath = FieldPath.of("spec", "template");

interface TemplateWarningOptions<T> {
  readonly domain: ApiDomain;
  /** The path of the template; by default `spec.template`. */
  readonly path?: FieldPath;
  /** Whether names of pods begin with the name of the object. */
  readonly namesPods?: boolean;
  /**
   * Returns a value that changes with the template. An update that does not change the value has no warnings. By
   * default it is the generation of the object.
   */
  readonly generationOf?: (object: T) => unknown;
}

/** The hooks of a strategy. */
interface TemplateWarnings<T> {
  warningsOnCreate(object: T): string[];
  warningsOnUpdate(object: T, old: T): string[];
}

/** Makes the warning hooks of a kind with a template. */
export function templateWarnings<T extends ApiObject>(
  templateOf: (object: T) => PodTemplateSpec | undefined,
  {
    domain,
    path = templatePath,
    namesPods = false,
    generationOf = ({ metadata }) => metadata.generation,
  }: TemplateWarningOptions<T>,
): TemplateWarnings<T> {
  const ofPods = podWarnings(domain);
  const annotationsPath = path.child("metadata", "annotations");
  const warnings = (object: T): string[] => {
    const template = templateOf(object);
    return template === undefined ? [] : ofPods(template, path.child("spec"), annotationsPath);
  };
  return {
    warningsOnCreate: (object) => [
      ...(namesPods ? nameWarnings(object, "this is used in Pod names and hostnames") : []),
      ...warnings(object),
    ],
    warningsOnUpdate: (object, old) => (generationOf(object) === generationOf(old) ? [] : warnings(object)),
  };
}

/** Returns a warning about a name that is not a DNS label; `use` tells its use. */
export function nameWarnings({ metadata: { name = "" } }: ApiObject, use: string): string[] {
  const problems = dns1123Label(name);
  if (problems.length === 0) return [];
  const text = `${use}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${text}: [${problems.join(" ")}]`];
}

/**
 * Returns warnings about a pod or template with its defaults. `path` is the path of its spec, `annotationsPath` that of
 * its annotations.
 */
type PodWarnings = (
  pod: Pick<PodTemplateSpec, "metadata" | "spec">,
  path: FieldPath,
  annotationsPath: FieldPath,
) => string[];

/**
 * Makes the function that returns warnings. With `hasAppArmor`, it warns of AppArmor annotations; pods have these
 * warnings when they are created.
 */
export function podWarnings(domain: ApiDomain, { hasAppArmor = true } = {}): PodWarnings {
  const labels = nodeLabels(domain);
  const names = podAnnotations(domain);
  const ended = endedAnnotations(domain);
  return ({ metadata, spec }, path, annotationsPath) => {
    const ofSecurity = securityAnnotationWarnings({ metadata, spec }, annotationsPath, names, { hasAppArmor });
    const warnings = nodeLabelWarnings(spec, path, labels);
    addAll(warnings, spreadWarnings(spec, path, labels));
    for (const [name, text] of ended) {
      if (metadata.annotations?.[name] !== undefined) warnings.push(warningAt(annotationsPath.key(name), text));
    }
    addAll(warnings, specWarnings(spec, path, ofSecurity));
    return warnings;
  };
}

/** Annotations without a meaning now, and the text of the warning about each. */
const endedAnnotations = ({ rename }: ApiDomain): readonly (readonly [name: string, text: string])[] => {
  const sysctls = 'non-functional in v1.11+; use the "sysctls" field instead';
  return [
    [
      rename("scheduler.alpha.kubernetes.io/critical-pod"),
      'non-functional in v1.16+; use the "priorityClassName" field instead',
    ],
    [rename("security.alpha.kubernetes.io/sysctls"), sysctls],
    [rename("security.alpha.kubernetes.io/unsafe-sysctls"), sysctls],
  ];
};

function spreadWarnings({ topologySpreadConstraints = [] }: PodSpec, path: FieldPath, labels: NodeLabels): string[] {
  return topologySpreadConstraints.flatMap(({ topologyKey, labelSelector }, i) => {
    const at = path.child("topologySpreadConstraints").index(i);
    const ofKey = keyWarnings(topologyKey, at.child("topologyKey"), labels);
    return labelSelector === undefined ? [...ofKey, matchesNothing(at)] : ofKey;
  });
}

/**
 * Returns warnings about a spec. `security` are the warnings about annotations, which precede those about containers.
 */
function specWarnings(spec: PodSpec, path: FieldPath, security: readonly string[]): string[] {
  const containers: PlacedContainer[] = [];
  for (const field of ["initContainers", "containers"] as const) {
    const at = path.child(field);
    for (const [i, container] of (spec[field] ?? []).entries()) containers.push({ container, at: at.index(i) });
  }
  const warnings = volumesWarnings(spec.volumes ?? [], path.child("volumes"));
  if (spec.hostAliases !== undefined) {
    addAll(
      warnings,
      repeatWarnings(spec.hostAliases, ({ ip }) => ip ?? "", path.child("hostAliases"), "ip"),
    );
  }
  if (spec.imagePullSecrets !== undefined) addAll(warnings, pullSecretWarnings(spec, path.child("imagePullSecrets")));
  addFractionWarnings(spec.overhead, path.child("overhead"), inBytes, warnings);
  addAll(warnings, security);
  for (const { container, at } of containers) addContainerWarnings(container, at, warnings);
  addAll(warnings, portWarnings(containers));
  addAll(warnings, graceWarnings(spec, path));
  if (spec.affinity !== undefined) addAll(warnings, selectorWarnings(spec, path));
  return warnings;
}

/** A container with its path. */
interface PlacedContainer {
  readonly container: Container;
  readonly at: FieldPath;
}

/** Returns warnings about the volumes of a pod; `path` is the path of the list. */
function volumesWarnings(volumes: readonly Volume[], path: FieldPath): string[] {
  const warnings: string[] = [];
  for (const [i, volume] of volumes.entries()) {
    // Nearly every volume has a name and one source, which is none of these.
    const isOutdated = Object.keys(volume).some((name) => Object.hasOwn(outdated, name));
    if (isOutdated) addAll(warnings, outdatedWarnings(volume, outdatedNames, path.index(i)));
  }
  addPathWarnings(volumes, warnings);
  addEphemeralWarnings(volumes, path, warnings);
  return warnings;
}

function graceWarnings({ terminationGracePeriodSeconds = 0 }: PodSpec, path: FieldPath): string[] {
  if (nearestNumber(terminationGracePeriodSeconds) >= 0) return [];
  const text = "must be >= 0; negative values are invalid and will be treated as 1";
  return [warningAt(path.child("terminationGracePeriodSeconds"), text)];
}

const matchesNothing = (path: FieldPath): string =>
  warningAt(path.child("labelSelector"), "a null labelSelector results in matching no pod");

function selectorWarnings({ affinity }: PodSpec, path: FieldPath): string[] {
  const warnings: string[] = [];
  for (const name of ["podAffinity", "podAntiAffinity"] as const) {
    const at = path.child("affinity", name);
    const {
      requiredDuringSchedulingIgnoredDuringExecution: needed,
      preferredDuringSchedulingIgnoredDuringExecution: liked,
    } = affinity?.[name] ?? {};
    for (const [i, { labelSelector }] of (needed ?? []).entries()) {
      const term = at.child("requiredDuringSchedulingIgnoredDuringExecution").index(i);
      if (labelSelector === undefined) warnings.push(matchesNothing(term));
    }
    for (const [i, { podAffinityTerm }] of (liked ?? []).entries()) {
      const term = at.child("preferredDuringSchedulingIgnoredDuringExecution").index(i).child("podAffinityTerm");
      if (podAffinityTerm.labelSelector === undefined) warnings.push(matchesNothing(term));
    }
  }
  return warnings;
}

/** Deprecated sources of volumes, and the text of the warning about each. */
const outdated: Partial<Record<keyof Volume, string>> = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
};

const outdatedNames = Object.keys(outdated) as readonly (keyof Volume)[]; // the keys of this object

/** Returns warnings about those sources of a volume that have one of these names. */
export function outdatedWarnings<Name extends keyof Volume>(
  volume: { readonly [N in Name]?: unknown },
  names: readonly Name[],
  path: FieldPath,
): string[] {
  const old = names.filter((name) => volume[name] !== undefined);
  // Upstream: messages have another name for this source.
  return old.map((name) => warningAt(path.child(name === "storageos" ? "storageOS" : name), outdated[name] ?? ""));
}

/** Adds warnings about files of volumes. */
function addPathWarnings(volumes: readonly Volume[], warnings: string[]): void {
  let overlapsLeft = overlapWarningsMax;
  for (const volume of volumes) {
    const overlaps = overlapWarnings(volume, overlapsLeft);
    overlapsLeft -= overlaps.length;
    addAll(warnings, overlaps);
    const isEmpty = volume.projected?.sources?.some((source) => Object.keys(source).length === 0) === true;
    if (isEmpty) warnings.push(`volume ${goQuote(volume.name)} (Projected) has no sources provided`);
  }
}

/** Adds warnings about the claims that are made for volumes. */
function addEphemeralWarnings(volumes: readonly Volume[], path: FieldPath, warnings: string[]): void {
  for (const [i, { ephemeral }] of volumes.entries()) {
    const claim = ephemeral?.volumeClaimTemplate;
    if (claim === undefined) continue;
    const at = path.index(i).child("ephemeral", "volumeClaimTemplate", "spec");
    addAll(warnings, claimSpecWarnings(claim.spec, at));
  }
}

const ofClaims = ["storage"];

/** Returns warnings about the spec of a claim, or of a template of claims. */
export function claimSpecWarnings({ resources }: PersistentVolumeClaimSpec, path: FieldPath): string[] {
  const at = path.child("resources");
  const warnings: string[] = [];
  addFractionWarnings(resources.requests, at.child("requests"), ofClaims, warnings);
  addFractionWarnings(resources.limits, at.child("limits"), ofClaims, warnings);
  return warnings;
}

/** Returns a warning for each item whose text equals that of an earlier item. */
function repeatWarnings<T>(items: readonly T[], of: (item: T) => string, path: FieldPath, field: string): string[] {
  const seen = new Set<string>();
  return items.flatMap((item, i) => {
    const text = of(item);
    const isRepeated = seen.has(text);
    seen.add(text);
    return isRepeated ? [warningAt(path.index(i).child(field), `duplicate ${field} ${goQuote(text)}`)] : [];
  });
}

function pullSecretWarnings({ imagePullSecrets = [] }: PodSpec, path: FieldPath): string[] {
  const nameless = imagePullSecrets.flatMap(({ name }, i) =>
    name ? [] : [warningAt(path.index(i).child("name"), 'invalid empty name ""')],
  );
  return [...repeatWarnings(imagePullSecrets, ({ name }) => name ?? "", path, "name"), ...nameless];
}

function addContainerWarnings({ env = [], resources }: Container, path: FieldPath, warnings: string[]): void {
  const seen = new Set<string>();
  for (const [i, { name, value = "" }] of env.entries()) {
    const { size } = seen;
    seen.add(name);
    if (seen.size > size) continue; // this is the usual case
    // A value that contains the earlier one does not hide it.
    const reference = `$(${name})`;
    if (value !== reference && value.includes(reference)) continue;
    const text = `hides previous definition of ${goQuote(name)}, which may be dropped when using apply`;
    warnings.push(warningAt(path.child("env").index(i), text));
  }
  const at = path.child("resources");
  addFractionWarnings(resources.limits, at.child("limits"), inBytes, warnings);
  addFractionWarnings(resources.requests, at.child("requests"), inBytes, warnings);
}

const inBytes = ["memory", "ephemeral-storage"];

/** Adds warnings about the amounts of the resources `names` that are not whole numbers. */
function addFractionWarnings(
  amounts: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
  names: readonly string[],
  warnings: string[],
): void {
  if (amounts === undefined) return;
  for (const name of names) {
    const amount = amounts[name];
    if (amount === undefined || plainThousandths(amount) % 1000 === 0) continue; // this is the usual case
    const isLarge = large.test(amount);
    const quantity = isLarge || mayHaveFraction.test(amount) ? parseQuantity(amount) : undefined;
    if (quantity === undefined || !(hasFraction(quantity) || (isLarge && isWrapped(quantity)))) continue;
    const text = goQuote(formatQuantity(quantity));
    warnings.push(warningAt(path.key(name), `fractional byte value ${text} is invalid, must be an integer`));
  }
}

/** A decimal point, the suffix of a small unit, or the sign of an exponent. */
const mayHaveFraction = /[.num-]/;
/** Matches amounts whose thousandths may need more than 64 bits. */
const large = /\d{16}$|\d{10}(?:[kM]|e[36])$|\d{7}[KMG]i$|\d[TPE]i$/;

const hasFraction = ({ unscaled, exponent }: Quantity): boolean =>
  exponent < 0 && unscaled % 10n ** BigInt(-exponent) !== 0n; // at most nine decimals

/**
 * Whether an amount in thousandths overflows to a fraction. Upstream: thousandths are computed in 64 bits, and only the
 * lowest bits remain. Larger units overflow to zero, without a warning.
 */
const isWrapped = ({ unscaled, exponent }: Quantity): boolean =>
  exponent >= 0 && exponent <= 6 && BigInt.asIntN(64, unscaled * 10n ** BigInt(exponent) * 1000n) % 1000n !== 0n;

/**
 * The maximum number of warnings. Clients see fewer of them, and a pod with equal ports would have one for each pair.
 */
const portWarningsMax = 100;

interface KnownPort {
  readonly port: ContainerPort;
  readonly at: FieldPath;
  /** The position of the port among all ports. */
  readonly index: number;
}

/** Returns warnings about ports that several containers have. */
function portWarnings(containers: readonly PlacedContainer[]): string[] {
  if (!mayWarn(containers)) return []; // this is the usual case
  const warnings: string[] = [];
  const portsByKey = new Map<string, KnownPort[]>();
  let index = 0;
  for (const { container, at: of } of containers) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const at = of.child("ports").index(i);
      if (port.hostIP && !port.hostPort) warnings.push(warningAt(at, `hostIP set without hostPort: ${goPort(port)}`));
      for (const other of findClashing(port, portsByKey)) {
        const problem = `${clashKind(port, other.port)} port definition with ${other.at.toString()}`;
        warnings.push(warningAt(at, problem));
      }
      if (warnings.length >= portWarningsMax) return warnings;
      for (const key of ["", `${port.hostPort ?? 0}`, hostKey(port)]) {
        const name = `${numberKey(port)} ${key}`;
        const list = portsByKey.get(name);
        if (list === undefined) portsByKey.set(name, [{ port, at, index }]);
        else list.push({ port, at, index });
      }
      index++;
    }
  }
  return warnings;
}

/** Whether a port has a host address, or the same number as an earlier one. */
function mayWarn(containers: readonly { readonly container: Container }[]): boolean {
  const numbers = new Set<number>();
  for (const { container } of containers) {
    for (const { containerPort, hostIP } of container.ports ?? []) {
      if (hostIP || numbers.has(containerPort)) return true;
      numbers.add(containerPort);
    }
  }
  return false;
}

const numberKey = ({ containerPort, protocol = "" }: ContainerPort): string => `${containerPort}/${protocol}`;
const hostKey = ({ hostIP = "", hostPort = 0 }: ContainerPort, ip = hostIP): string => `${hostPort} on ${ip}`;

/**
 * Returns the first earlier ports that conflict with this one. Only ports with an equal key are read, since there may
 * be many.
 */
function findClashing(port: ContainerPort, portsByKey: ReadonlyMap<string, readonly KnownPort[]>): KnownPort[] {
  const { hostPort = 0, hostIP = "" } = port;
  const keys = hostPort === 0 ? [""] : hostIP === "" ? ["0", `${hostPort}`] : ["0", hostKey(port), hostKey(port, "")];
  return keys
    .flatMap((key) => portsByKey.get(`${numberKey(port)} ${key}`)?.slice(0, portWarningsMax) ?? [])
    .sort((one, other) => one.index - other.index)
    .slice(0, portWarningsMax);
}

/** Returns how two ports with the same number conflict. */
function clashKind(one: ContainerPort, other: ContainerPort): string {
  const [port = 0, otherPort = 0] = [one.hostPort, other.hostPort];
  if (port === otherPort && (one.hostIP ?? "") === (other.hostIP ?? "")) return "duplicate";
  return port === 0 || otherPort === 0 ? "overlapping" : "dangerously ambiguous";
}

const goPort = ({ name = "", hostPort = 0, containerPort, protocol = "", hostIP = "" }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
