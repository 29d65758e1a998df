/**
 * ServiceAccount: every pod runs as an existing account, `default` unless it names one. The plugin mounts a token of
 * the account, the root certificates and the namespace as files. Source: upstream's plugin of this name.
 */
import { allContainers, type AnyContainer } from "#api/core/containers.ts";
import type {
  Container,
  LocalObjectReference,
  ObjectReference,
  Pod,
  PodSpec,
  ProjectedVolumeSource,
  ServiceAccount,
} from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { pathSegment } from "#meta/names.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import type { Clock } from "#std/clock.ts";
import { nameSuffix, type Random } from "#std/random.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

interface ServiceAccountOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the account from memory, which is up to date with every acknowledged write. */
  getAccount(namespace: string, name: string): ServiceAccount | undefined;
}

const defaultAccount = "default";
const volumePrefix = "kube-api-access-";
const rootCertificates = "kube-root-ca.crt";

/** The time between two looks for the default account of a new namespace, which a controller makes after a moment. */
const waitStepMs = 20;
const waitMaxMs = 1500;

export function serviceAccount(options: ServiceAccountOptions): AdmissionPlugin {
  const { domain, random } = options;
  const mirror = podAnnotations(domain).mirror;
  const enforce = domain.rename("kubernetes.io/enforce-mountable-secrets");
  const mountPath = domain.rename("/var/run/secrets/kubernetes.io/serviceaccount");
  // Checks the resource first: to read `object` may decode a large one of another kind.
  const hasPod = (attributes: AdmissionAttributes): boolean =>
    isPods(attributes.resource) && attributes.object !== undefined;
  const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[mirror] !== undefined;
  const isEnforced = (account: ServiceAccount): boolean =>
    /^(?:1|t|T|TRUE|true|True)$/.test(account.metadata.annotations?.[enforce] ?? "");

  const withAccountDefaults = (pod: Pod, account: ServiceAccount): Pod => {
    const withSecrets = withPullSecrets(pod, account);
    const mountsToken = pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
    if (!mountsToken) return withSecrets;
    return withToken(withSecrets, mountPath, () => volumePrefix + nameSuffix(random, 5));
  };
  return {
    name: "ServiceAccount",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { operation, subresource } = attributes;
      if (operation !== "CREATE" || subresource !== "" || !hasPod(attributes)) return undefined;
      const sentPod = attributes.object as Pod; // the resource says so
      if (isMirror(sentPod)) {
        refuseMirror(attributes, sentPod);
        return undefined;
      }
      const name = sentPod.spec.serviceAccountName ?? "";
      const pod = name === "" ? withAccount(sentPod, defaultAccount) : sentPod;
      const account = findAccount(options, attributes, name === "" ? defaultAccount : name);
      return andThen(account, (serviceAccount) => withAccountDefaults(pod, serviceAccount));
    },
    validate(attributes) {
      const { operation, subresource } = attributes;
      const isEphemeral = operation === "UPDATE" && subresource === "ephemeralcontainers";
      if (!isEphemeral && (operation !== "CREATE" || subresource !== "")) return undefined;
      if (!hasPod(attributes)) return undefined;
      const pod = attributes.object as Pod; // the resource says so
      if (!isEphemeral && isMirror(pod)) return refuseMirror(attributes, pod);
      const name = pod.spec.serviceAccountName ?? "";
      if (name === "") {
        const { namespace } = attributes;
        throw refusal(attributes, `no service account specified for pod ${namespace}/${pod.metadata.name ?? ""}`);
      }
      const check = (account: ServiceAccount): void => {
        if (!isEnforced(account)) return;
        const problem = isEphemeral ? ephemeralProblem(pod, account) : secretProblem(pod, account);
        if (problem !== undefined) throw refusal(attributes, problem);
      };
      return andThen(findAccount(options, attributes, name), check);
    },
  };
}

/** Finds the account of a pod, and waits a while for a default account. Throws a refusal when there is none. */
function findAccount(
  options: ServiceAccountOptions,
  attributes: AdmissionAttributes,
  name: string,
): MaybePromise<ServiceAccount> {
  const { namespace } = attributes;
  const account = options.getAccount(namespace, name);
  if (account !== undefined) return account;
  if (name !== defaultAccount) throw missingAccountError(attributes, name);
  return waitForAccount(options, attributes, name);
}

async function waitForAccount(
  { clock, getAccount }: ServiceAccountOptions,
  attributes: AdmissionAttributes,
  name: string,
): Promise<ServiceAccount> {
  const { signal, deadlineMs } = attributes.context;
  const end = Math.min(clock.now() + waitMaxMs, deadlineMs);
  while (clock.now() < end && signal?.aborted !== true) {
    await new Promise<void>((resolve) => void clock.after(waitStepMs, resolve));
    const account = getAccount(attributes.namespace, name);
    if (account !== undefined) return account;
  }
  throw missingAccountError(attributes, name);
}

/**
 * The error of a missing account. Upstream: the client of kube-apiserver refuses to send a name that no object can
 * have.
 */
function missingAccountError(attributes: AdmissionAttributes, name: string): Error {
  const wrong = pathSegment(name);
  const shown = goQuote(name);
  const problem =
    wrong.length === 0 ? `serviceaccount ${shown} not found` : `invalid resource name ${shown}: [${wrong.join(" ")}]`;
  return refusal(attributes, `error looking up service account ${attributes.namespace}/${name}: ${problem}`);
}

const withAccount = (pod: Pod, name: string): Pod => ({
  ...pod,
  spec: { ...pod.spec, serviceAccountName: name, serviceAccount: name },
});

function withPullSecrets(pod: Pod, account: ServiceAccount): Pod {
  const secrets = account.imagePullSecrets ?? [];
  if (secrets.length === 0 || (pod.spec.imagePullSecrets ?? []).length > 0) return pod;
  const imagePullSecrets = secrets.map(({ name }) => (name === undefined ? {} : { name }));
  return { ...pod, spec: { ...pod.spec, imagePullSecrets } };
}

/** Mounts a token in the containers of a pod, except in those that mount something else at `mountPath`. */
function withToken(pod: Pod, mountPath: string, newName: () => string): Pod {
  const volumes = pod.spec.volumes ?? [];
  const present = volumes.find(({ name }) => name.startsWith(volumePrefix))?.name;
  const name = present ?? newName();
  let isMounted = false;
  const mount = (container: Container): Container => {
    const mounts = container.volumeMounts ?? [];
    if (mounts.some((existing) => existing.mountPath === mountPath)) return container;
    isMounted = true;
    return { ...container, volumeMounts: [...mounts, { name, readOnly: true, mountPath }] };
  };
  const { initContainers, containers } = pod.spec;
  const spec: PodSpec = {
    ...pod.spec,
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(mount) }),
    containers: containers?.map(mount) ?? null,
  };
  if (!isMounted) return pod;
  if (present !== undefined) return { ...pod, spec };
  return { ...pod, spec: { ...spec, volumes: [...volumes, { name, projected: tokenFiles }] } };
}

/**
 * A little longer than an hour: the server recognizes tokens of this lifetime as mounted ones, and prolongs them (see
 * `authn/token-request.ts`).
 */
const expirationSeconds = 3607;

const tokenFiles: ProjectedVolumeSource = {
  sources: [
    { serviceAccountToken: { expirationSeconds, path: "token" } },
    { configMap: { name: rootCertificates, items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ],
  defaultMode: 0o644,
};

/**
 * Refuses mirror pods that use objects of the API: they represent pods that a node runs by itself, and get nothing from
 * the API.
 */
function refuseMirror(attributes: AdmissionAttributes, pod: Pod): void {
  const { spec } = pod;
  if ((spec.serviceAccountName ?? "") !== "") {
    throw refusal(attributes, "a mirror pod may not reference service accounts");
  }
  if (namesSecrets(pod)) throw refusal(attributes, "a mirror pod may not reference secrets");
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined)) {
    throw refusal(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

/** The names of fields in which drivers of volumes name their secrets. */
const secretFields: ReadonlySet<string> = new Set(["secret", "secretRef", "secretKeyRef", "nodePublishSecretRef"]);

/** Whether a volume or a container names a secret, at any depth. */
function namesSecrets({ spec }: Pod): boolean {
  if ((spec.imagePullSecrets ?? []).length > 0) return true;
  const waiting: unknown[] = [spec.volumes, ...allContainers(spec).flatMap(({ env, envFrom }) => [env, envFrom])];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (secretFields.has(key)) return true;
      waiting.push(member);
    }
  }
  return false;
}

const namesOf = (references: readonly (LocalObjectReference | ObjectReference)[] = []): ReadonlySet<string> =>
  new Set(references.map(({ name }) => name ?? ""));

/** Returns why the account does not allow the pod's secrets; `undefined` when it does. */
function secretProblem({ spec }: Pod, account: ServiceAccount): string | undefined {
  const secretNames = namesOf(account.secrets);
  const ending = `is not allowed because service account ${account.metadata.name} does not reference that secret`;
  for (const { secret } of spec.volumes ?? []) {
    const name = secret?.secretName ?? "";
    if (secret !== undefined && !secretNames.has(name)) return `volume with secret.secretName="${name}" ${ending}`;
  }
  const inContainers =
    containerProblem("init container", spec.initContainers, secretNames, ending) ??
    containerProblem("container", spec.containers, secretNames, ending);
  if (inContainers !== undefined) return inContainers;
  const pullSecretNames = namesOf(account.imagePullSecrets);
  for (const [index, { name = "" }] of (spec.imagePullSecrets ?? []).entries()) {
    if (pullSecretNames.has(name)) continue;
    return `imagePullSecrets[${index}].name="${name}" is not allowed because service account ${account.metadata.name} does not reference that imagePullSecret`;
  }
  return undefined;
}

const ephemeralProblem = ({ spec }: Pod, account: ServiceAccount): string | undefined =>
  containerProblem(
    "ephemeral container",
    spec.ephemeralContainers,
    namesOf(account.secrets),
    `is not allowed because service account ${account.metadata.name} does not reference that secret`,
  );

function containerProblem(
  what: string,
  containers: readonly AnyContainer[] | null | undefined,
  secretNames: ReadonlySet<string>,
  ending: string,
): string | undefined {
  for (const { name: container, env = [], envFrom = [] } of containers ?? []) {
    for (const { name: variable, valueFrom } of env) {
      const { name = "" } = valueFrom?.secretKeyRef ?? {};
      if (valueFrom?.secretKeyRef === undefined || secretNames.has(name)) continue;
      return `${what} ${container} with envVar ${variable} referencing secret.secretName="${name}" ${ending}`;
    }
    for (const { secretRef } of envFrom) {
      const { name = "" } = secretRef ?? {};
      if (secretRef === undefined || secretNames.has(name)) continue;
      return `${what} ${container} with envFrom referencing secret.secretName="${name}" ${ending}`;
    }
  }
  return undefined;
}
