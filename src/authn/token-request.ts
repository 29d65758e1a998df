/**
 * Answers `POST …/serviceaccounts/<name>/token`: issues a signed token with audiences and a lifetime, optionally bound
 * to a pod, a Secret or a node. Source: upstream's `registry/core/serviceaccount/storage/token.go`.
 */
import type { BoundObjectReference, TokenRequest } from "#api/authentication/v1.ts";
import type { Pod } from "#api/core/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import type { Action } from "#meta/action.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, goQuote, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { badRequest, conflict, internalError, invalidObject, notFound } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { Clock } from "#std/clock.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import type { Random } from "#std/random.ts";
import { boundClaims, type ObjectRef } from "./service-account-token.ts";

interface TokenRequestOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  readonly find: FindObject;
  /** The issuer of new tokens. */
  readonly issuer: string;
  /** The audiences of tokens whose request names none. */
  readonly audiences: readonly string[];
  /** The maximum lifetime; 0 for no maximum. */
  readonly lifetimeSecondsMax: number;
  /** Whether tokens that kubelets request in the old way live for a year, with a note in the audit log. */
  readonly extendsLifetime: boolean;
  /** Whether tokens may be bound to nodes. */
  readonly bindsNodes: boolean;
  /** Makes a token of claims. */
  readonly sign: (claims: object) => Promise<string>;
}

const lifetimeSecondsDefault = 3600;
const lifetimeSecondsMin = 600;

/** The lifetime that kubelets request when the pod gives none; it identifies such requests. */
const askedByDefaultSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

/** Fills in the lifetime of an hour, if the request gives none. */
export function tokenRequestDefaults(object: Unstructured): Unstructured {
  const sent: ApiObject = object;
  const { spec } = sent as TokenRequest; // decoded by its schema
  if (spec.expirationSeconds !== null) return object;
  return { ...object, spec: { ...spec, expirationSeconds: lifetimeSecondsDefault } };
}

/** Makes the action. It is given requests with their defaults. */
export function tokenRequest(options: TokenRequestOptions): Action {
  const { domain, clock, find } = options;
  const kind = { group: domain.rename("authentication.k8s.io"), kind: "TokenRequest" };
  const issuedCredential = domain.rename("authentication.kubernetes.io/issued-credential-id");
  return async ({ context, namespace, name, object, admit }) => {
    const sent = object as TokenRequest; // decoded by its schema
    const { audiences: asked, expirationSeconds, boundObjectRef: ref } = sent.spec;
    const { name: bodyName = "", ...metadata } = object.metadata;
    if (bodyName !== "" && bodyName !== name) {
      const text = "must match the service account name if specified";
      throw invalidObject(kind, name, [invalid(FieldPath.of("metadata", "name"), bodyName, text)]);
    }
    const account = find("serviceaccounts", namespace, name);
    if (account === undefined) throw notFound({ group: "", resource: "serviceaccounts" }, name);

    const nowMs = clock.now();
    const audiences = asked === null || asked.length === 0 ? options.audiences : asked;
    const problems = validate(expirationSeconds ?? 0);
    if (problems.length > 0) throw invalidObject(kind, "", problems);
    let lifetime = nearestNumber(expirationSeconds ?? 0);
    const request = (): TokenRequest => ({
      ...sent,
      metadata: { name, namespace, ...metadata, creationTimestamp: timestampOf(nowMs) },
      spec: { audiences, expirationSeconds: lifetime, boundObjectRef: ref },
      status: { token: "", expirationTimestamp: null },
    });
    await admit(request());

    const bound = ref === null ? {} : bind(options, ref, namespace, name);
    const { lifetimeSecondsMax } = options;
    if (lifetimeSecondsMax > 0 && lifetime > lifetimeSecondsMax) {
      context.warn(`requested expiration of ${lifetime} seconds shortened to ${lifetimeSecondsMax} seconds`);
      lifetime = lifetimeSecondsMax;
    }
    const isExtended =
      options.extendsLifetime &&
      bound.pod !== undefined &&
      lifetime === askedByDefaultSeconds &&
      audiences.every((audience) => options.audiences.includes(audience));
    const id = options.random.uuid();
    const claims = {
      namespace,
      account: refOf(account),
      ...bound,
      audiences,
      id,
      issuer: options.issuer,
      issuedAt: Math.floor(nowMs / 1000),
      lifetimeSeconds: isExtended ? extendedSeconds : lifetime,
      warnAfterSeconds: isExtended ? lifetime : 0,
    };
    let token: string;
    try {
      token = await options.sign(boundClaims(claims, domain));
    } catch (cause) {
      throw internalError("failed to generate token", cause);
    }
    context.annotate(issuedCredential, `JTI=${id}`);
    const expirationTimestamp = timestampOf(nowMs + lifetime * 1000);
    return { ...request(), status: { token, expirationTimestamp } };
  };
}

function validate(asked: Int64): FieldError[] {
  const about = (text: string): FieldError[] => [invalid(FieldPath.of("spec", "expirationSeconds"), asked, text)];
  const seconds = nearestNumber(asked);
  if (seconds < lifetimeSecondsMin) return about("may not specify a duration less than 10 minutes");
  return seconds > 2 ** 32 ? about("may not specify a duration larger than 2^32 seconds") : [];
}

interface Bound {
  readonly pod?: ObjectRef;
  readonly secret?: ObjectRef;
  readonly node?: ObjectRef;
}

/** Returns the object whose deletion ends the token. Throws when it does not exist, is another one or cannot be one. */
function bind(options: TokenRequestOptions, ref: BoundObjectReference, namespace: string, account: string): Bound {
  const { apiVersion = "", kind = "", name = "", uid = "" } = ref;
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  const resource = group === "" ? boundResources.get(kind) : undefined;
  if (resource === undefined) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  if (kind === "Node" && !options.bindsNodes) {
    throw badRequest(
      'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled',
    );
  }
  // Upstream: it is read as by a client, who must give a name.
  if (name === "") throw badRequest("Name parameter required.");
  const object = options.find(resource, kind === "Node" ? "" : namespace, name);
  if (object === undefined) throw notFound({ group: "", resource }, name);
  const { serviceAccountName = "", nodeName = "" }: Partial<Pod["spec"]> =
    resource === "pods" ? (object as Pod).spec : {}; // the resource says so
  if (resource === "pods" && serviceAccountName !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${goQuote(account)} to pod running with different serviceaccount name.`,
    );
  }
  if (uid !== "" && uid !== object.metadata.uid) {
    throw conflict(
      { group, resource: kind },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        "The object might have been deleted and then recreated",
    );
  }
  if (kind === "Secret") return { secret: refOf(object) };
  if (kind === "Node") return { node: refOf(object) };
  const pod = refOf(object);
  if (nodeName === "") return { pod };
  const node = options.find("nodes", "", nodeName);
  return { pod, node: node === undefined ? { name: nodeName, uid: "" } : refOf(node) };
}

const boundResources: ReadonlyMap<string, "pods" | "secrets" | "nodes"> = new Map([
  ["Pod", "pods"],
  ["Secret", "secrets"],
  ["Node", "nodes"],
]);

const refOf = ({ metadata: { name = "", uid = "" } }: ApiObject): ObjectRef => ({ name, uid });
