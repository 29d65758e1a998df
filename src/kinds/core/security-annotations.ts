/**
 * Annotations of pods that confined containers before there were fields for this. Those of AppArmor still count: in a
 * new pod, fields and annotations are made equal. Source: the answers of kube-apiserver.
 */
import type {
  AppArmorProfile,
  Container,
  EphemeralContainer,
  PodSpec,
  PodTemplateSpec,
  SeccompProfile,
} from "#api/core/v1.ts";
import { type FieldError, forbidden, goQuote, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import type { PodAnnotations } from "#meta/pod-annotations.ts";
import { checkDescending, type Errors } from "../checks.ts";
import { editItems, withField } from "../edit.ts";

/** A pod or a template of pods. */
type Confined = Pick<PodTemplateSpec, "metadata" | "spec">;
type Annotations = Readonly<Record<string, string>>;
type Profile = AppArmorProfile | SeccompProfile;

const localhost = "localhost/";
/** The maximum length of a profile name in bytes. */
const profileMax = 4095;

/** Returns the profile that an annotation names; its type is empty for invalid texts. */
function profileOf(text: string): Profile {
  if (text === "unconfined") return { type: "Unconfined" };
  if (text === "runtime/default") return { type: "RuntimeDefault" };
  if (text.startsWith(localhost) && text.length > localhost.length) {
    return { type: "Localhost", localhostProfile: text.slice(localhost.length) };
  }
  return { type: "" };
}

function annotationOf({ type, localhostProfile = "" }: Profile): string | undefined {
  if (type === "Localhost") return localhostProfile === "" ? undefined : localhost + localhostProfile;
  return type === "Unconfined" ? "unconfined" : type === "RuntimeDefault" ? "runtime/default" : undefined;
}

/** Returns the values of the annotations with a prefix, by container; `undefined` if there are none. */
function annotationsByContainer(annotations: Annotations | undefined, prefix: string): Map<string, string> | undefined {
  let changes: Map<string, string> | undefined;
  for (const key in annotations) {
    if (key.startsWith(prefix)) (changes ??= new Map()).set(key.slice(prefix.length), annotations[key]!); // the key is its own
  }
  return changes;
}

/**
 * Returns a new pod whose AppArmor annotations and fields are consistent. `warn` gets the key of each annotation that
 * is used in place of a field.
 */
export function withAppArmor<T extends Confined>(
  pod: T,
  { appArmorPrefix }: PodAnnotations,
  warn: (key: string) => void,
): T {
  const { metadata, spec } = pod;
  if (spec.os?.name === "windows") return pod;
  const annotated = annotationsByContainer(metadata.annotations, appArmorPrefix);
  const ofPod = spec.securityContext?.appArmorProfile;
  const added: [string, string][] = [];
  const agreeing = (container: Container): Container => {
    const own = container.securityContext?.appArmorProfile;
    const text = annotated?.get(container.name);
    const said = own ?? ofPod;
    if (text === undefined) {
      const shown = said && isUsable(said) ? annotationOf(said) : undefined;
      if (shown !== undefined) added.push([appArmorPrefix + container.name, shown]);
      return container;
    }
    const profile = profileOf(text);
    if (own !== undefined || (ofPod !== undefined && isSame(profile, ofPod))) return container;
    warn(appArmorPrefix + container.name);
    if (profile.type === "" || !isUsable(profile)) return container;
    return withField(container, "securityContext", { ...container.securityContext, appArmorProfile: profile });
  };
  const next = editItems(editItems(spec, "initContainers", agreeing), "containers", agreeing);
  if (added.length === 0) return next === spec ? pod : { ...pod, spec: next };
  const annotations = Object.fromEntries([...Object.entries(metadata.annotations ?? {}), ...added].sort(byName));
  return { ...pod, metadata: { ...metadata, annotations }, spec: next };
}

/** Whether a profile fits in a field. Upstream: other profiles stay in the annotation only. */
const isUsable = ({ localhostProfile = "" }: Profile): boolean =>
  localhostProfile.trim() === localhostProfile && Buffer.byteLength(localhostProfile) <= profileMax;

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

const isSame = (a: Profile, b: Profile): boolean =>
  a.type === b.type && (a.localhostProfile ?? "") === (b.localhostProfile ?? "");

/** Checks the values of the annotations; `path` is their path. */
export function checkSecurityAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  path: FieldPath,
  names: PodAnnotations,
  errors: Errors,
): void {
  const ofPod = annotations[names.seccompOfPod];
  if (ofPod !== undefined) checkSeccomp(ofPod, path.child(names.seccompOfPod), errors);
  for (const [name, text] of annotationsByContainer(annotations, names.seccompPrefix) ?? []) {
    checkSeccomp(text, path.child(names.seccompPrefix + name), errors);
  }
  const profiles = annotationsByContainer(annotations, names.appArmorPrefix);
  if (profiles === undefined) return;
  const containers = new Set(containersOf(spec).map(([, { name }]) => name));
  for (const [name, text] of profiles) {
    const at = path.key(names.appArmorPrefix + name);
    if (!containers.has(name)) errors.push(invalid(at, name, "container not found"));
    if (text !== "" && profileOf(text).type === "" && text !== localhost) {
      errors.push(invalid(at, text, `invalid AppArmor profile name: ${goQuote(text)}`));
    }
  }
}

function checkSeccomp(text: string, path: FieldPath, errors: Errors): void {
  if (text === "docker/default") return;
  if (text.startsWith(localhost)) checkDescending(text.slice(localhost.length), path, errors);
  else if (profileOf(text).type === "") errors.push(invalid(path, text, "must be a valid seccomp profile"));
}

type AnyContainer = Container | EphemeralContainer;

/** Returns all containers, each with the name of its field and its index. */
const containersOf = (spec: PodSpec) =>
  (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((field) =>
    (spec[field] ?? []).map((container: AnyContainer, i) => [field, container, i] as const),
  );

/** Checks that annotations and fields do not contradict each other; `path` is the path of the spec. */
export function checkAgreement(
  annotations: Annotations | undefined,
  spec: PodSpec,
  path: FieldPath,
  names: PodAnnotations,
  errors: Errors,
): void {
  if (annotations === undefined) return;
  const ofPod = annotations[names.seccompOfPod];
  const contextPath = path.child("securityContext");
  compare(ofPod, spec.securityContext?.seccompProfile, contextPath.child("seccompProfile"), "seccomp", errors);
  const seccomp = annotationsByContainer(annotations, names.seccompPrefix);
  const appArmor = annotationsByContainer(annotations, names.appArmorPrefix);
  if (seccomp === undefined && appArmor === undefined) return;
  const podProfile = spec.securityContext?.appArmorProfile;
  for (const [field, { name, securityContext }, i] of containersOf(spec)) {
    const at = path.child(field).index(i).child("securityContext");
    compare(seccomp?.get(name), securityContext?.seccompProfile, at.child("seccompProfile"), "seccomp", errors);
  }
  for (const [field, { name, securityContext }, i] of containersOf(spec)) {
    const at = path.child(field).index(i).child("securityContext", "appArmorProfile");
    compare(appArmor?.get(name), securityContext?.appArmorProfile ?? podProfile, at, "apparmor", errors);
  }
}

function compare(
  text: string | undefined,
  profile: Profile | undefined,
  path: FieldPath,
  what: "seccomp" | "apparmor",
  errors: Errors,
): void {
  if (text === undefined || profile === undefined) return;
  const said = profileOf(text === "docker/default" && what === "seccomp" ? "runtime/default" : text);
  if (said.type !== profile.type) {
    errors.push(forbidden(path.child("type"), `${what} type in annotation and field must match`));
  } else if (said.type === "Localhost" && !isSame(said, profile)) {
    errors.push(forbidden(path.child("localhostProfile"), `${what} profile in annotation and field must match`));
  }
}

/** Returns findings about changed AppArmor annotations, which are immutable; `path` is the path of the annotations. */
export function validateAppArmorUpdate(
  annotations: Annotations = {},
  old: Annotations = {},
  path: FieldPath,
  { appArmorPrefix }: PodAnnotations,
): FieldError[] {
  const before = Object.entries(old).filter(([key]) => key.startsWith(appArmorPrefix));
  const changed = before.filter(([key, value]) => annotations[key] !== value);
  const added = Object.keys(annotations).filter((key) => key.startsWith(appArmorPrefix) && !Object.hasOwn(old, key));
  return [
    ...changed.map(([key]) => forbidden(path.key(key), "may not remove or update AppArmor annotations")),
    ...added.map((key) => forbidden(path.key(key), "may not add AppArmor annotations")),
  ];
}

export const appArmorWarning = (key: string, path: FieldPath): string =>
  `${String(path.key(key))}: deprecated since v1.30; use the "appArmorProfile" field instead`;

/** Whether an annotation confines containers. */
const isConfining = (key: string, { seccompOfPod, seccompPrefix, appArmorPrefix }: PodAnnotations): boolean =>
  key === seccompOfPod || key.startsWith(seccompPrefix) || key.startsWith(appArmorPrefix);

/** Returns warnings about annotations for which no field is set; `path` is the path of the annotations. */
export function securityAnnotationWarnings(
  { metadata: { annotations }, spec }: Confined,
  path: FieldPath,
  names: PodAnnotations,
  { hasAppArmor }: { readonly hasAppArmor: boolean },
): string[] {
  if (annotations === undefined || !Object.keys(annotations).some((key) => isConfining(key, names))) return [];
  const warnings: string[] = [];
  const warnIfPresent = (key: string, text: string): void => {
    if (Object.hasOwn(annotations, key)) warnings.push(text);
  };
  const oldSeccomp = (key: string): string =>
    `${String(path.key(key))}: non-functional in v1.27+; use the "seccompProfile" field instead`;
  const context = spec.securityContext;
  if (context?.seccompProfile === undefined) warnIfPresent(names.seccompOfPod, oldSeccomp(names.seccompOfPod));
  for (const [, { name, securityContext }] of containersOf(spec)) {
    const [seccomp, appArmor] = [names.seccompPrefix + name, names.appArmorPrefix + name];
    if (securityContext?.seccompProfile === undefined) warnIfPresent(seccomp, oldSeccomp(seccomp));
    if (hasAppArmor && (securityContext?.appArmorProfile ?? context?.appArmorProfile) === undefined) {
      warnIfPresent(appArmor, appArmorWarning(appArmor, path));
    }
  }
  return warnings;
}
