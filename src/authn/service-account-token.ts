/**
 * Authenticates service account tokens: reads their claims, and checks that account, Secret, pod or node still exist.
 * Bound tokens have an audience, a lifetime and maybe an object they depend on; legacy tokens live as long as their
 * Secret. Source: upstream's `pkg/serviceaccount`.
 *
 * Hot path: a verified signature is cached by digest. Every use checks times and objects again, in memory, without a
 * promise.
 */
import { timingSafeEqual } from "node:crypto";
import type { Secret, ServiceAccount } from "#api/core/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timeToMs } from "#meta/time.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import { isObject } from "#std/is-object.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { type Authentication, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";
import { tokenDigest } from "./token-digest.ts";
import {
  audienceClaim,
  type Jwt,
  leewayMs,
  parseJwt,
  SignatureVerifier,
  textClaim,
  timeClaims,
  timeProblem,
  type Times,
} from "./jwt.ts";
import { serviceAccountAlgorithms, type VerificationKeys } from "./service-account-keys.ts";

/** The issuer of legacy tokens, in every domain. */
export const legacyIssuer = "kubernetes/serviceaccount";

/** An object that a token names; name and uid must match. */
export interface ObjectRef {
  readonly name: string;
  readonly uid: string;
}

export interface BoundClaims {
  readonly namespace: string;
  readonly account: ObjectRef;
  readonly pod?: ObjectRef;
  readonly secret?: ObjectRef;
  /** The node of the pod, or the one to which the token is bound. The uid is empty for a node that does not exist. */
  readonly node?: ObjectRef;
  readonly audiences: readonly string[];
  /** The unique id, which names the token in audit events. */
  readonly id: string;
  readonly issuer: string;
  /** The time of issue, in seconds since the epoch. */
  readonly issuedAt: number;
  readonly lifetimeSeconds: number;
  /** The number of seconds after `issuedAt` from which a use is recorded in the audit log; 0 for never. */
  readonly warnAfterSeconds: number;
}

/** Makes the claims of a new bound token. */
export function boundClaims(claims: BoundClaims, domain: ApiDomain): object {
  const { namespace, account, pod, secret, node, audiences, id, issuer, issuedAt } = claims;
  const ref = ({ name, uid }: ObjectRef) => ({ name, ...(uid === "" ? {} : { uid }) });
  return {
    aud: audiences,
    exp: issuedAt + claims.lifetimeSeconds,
    iat: issuedAt,
    iss: issuer,
    jti: id,
    [domain.rename("kubernetes.io")]: {
      namespace,
      ...(node === undefined ? {} : { node: ref(node) }),
      ...(pod === undefined ? {} : { pod: ref(pod) }),
      ...(secret === undefined ? {} : { secret: ref(secret) }),
      serviceaccount: ref(account),
      ...(claims.warnAfterSeconds === 0 ? {} : { warnafter: issuedAt + claims.warnAfterSeconds }),
    },
    nbf: issuedAt,
    sub: accountUserName(namespace, account.name),
  };
}

interface LegacyClaims {
  readonly namespace: string;
  readonly account: ObjectRef;
  /** The name of the Secret that contains the token. */
  readonly secret: string;
}

/** Makes the claims of a new token for a Secret. */
export function legacyClaims({ namespace, account, secret }: LegacyClaims, domain: ApiDomain): object {
  const prefix = domain.rename("kubernetes.io/serviceaccount");
  return {
    iss: legacyIssuer,
    [`${prefix}/namespace`]: namespace,
    [`${prefix}/secret.name`]: secret,
    [`${prefix}/service-account.name`]: account.name,
    [`${prefix}/service-account.uid`]: account.uid,
    sub: accountUserName(namespace, account.name),
  };
}

/** Returns the user name of a service account. */
export const accountUserName = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** Returns the groups of a service account, without `system:authenticated`. */
export const accountGroups = (namespace: string): readonly string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
];

export interface ServiceAccountTokenOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  /** The issuers of bound tokens of this server. */
  readonly issuers: readonly string[];
  readonly keys: VerificationKeys;
  /** The audiences of this server; never empty. */
  readonly audiences: readonly string[];
  /** Whether a legacy token requires its Secret and account to exist. */
  readonly lookup: boolean;
  readonly find: FindObject;
  /** Called when a legacy token was used for the first time on a day (`2026-11-21`, UTC). */
  readonly usedSecret: (secret: Secret, day: string) => void;
  /** Counts uses of legacy tokens, and of tokens that live longer than was requested. */
  readonly count?: (use: TokenUse) => void;
}

/**
 * A use of a token. `legacy`: it is kept in a Secret, which was made with its account (also `automatic`) or not (also
 * `manual`); `invalid`: it is marked as no longer accepted. `valid` and `stale`: its lifetime was extended, and the use
 * is within the requested time or after it.
 */
export type TokenUse = "legacy" | "automatic" | "manual" | "invalid" | "valid" | "stale";

/** The data of a token with a verified signature. */
interface Verified {
  readonly namespace: string;
  readonly account: ObjectRef;
  readonly pod: ObjectRef | undefined;
  readonly secret: ObjectRef | undefined;
  readonly node: ObjectRef | undefined;
  /** The audiences; empty for a token without audiences, which is valid for all. */
  readonly audiences: readonly string[];
  readonly times: Times;
  /** The time from which a use is recorded, in seconds since the epoch; 0 for never. */
  readonly warnAfter: number;
  readonly isLegacy: boolean;
  readonly subject: string;
  readonly user: UserInfo;
  /** The answer for this server's own audiences. */
  readonly answer: Authentication;
  /** The uid and version of the Secret in which this token was last found. */
  secretSeen: string;
}

type Finding = Verified | { readonly refusal: string };

/**
 * The maximum number of tokens with a cached signature, in each of two generations: 10,000 accounts with one token each
 * fit.
 */
const verifiedMax = 16_384;
const badMax = 1024;

/** Authenticates tokens of `issuers` and legacy tokens; it leaves others to other methods. */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #options: ServiceAccountTokenOptions;
  readonly #names: ClaimNames;
  readonly #issuers: ReadonlySet<string>;
  readonly #verifier = new SignatureVerifier();
  readonly #verified = new ExpiringCache<Verified>(verifiedMax);
  readonly #bad = new ExpiringCache<Authentication>(badMax);
  readonly #waiting = new Map<string, Promise<Finding>>();

  constructor(options: ServiceAccountTokenOptions) {
    this.#options = options;
    this.#names = claimNames(options.domain);
    this.#issuers = new Set([...options.issuers, legacyIssuer]);
  }

  authenticateToken(token: string, audiences?: readonly string[]): MaybePromise<Authentication> {
    if (!token.includes(".")) return noCredentials;
    const digest = tokenDigest(token);
    const verified = this.#verified.get(digest);
    if (verified !== undefined) return this.#use(verified, token, audiences);
    return this.#bad.get(digest) ?? this.#firstUse(token, digest, audiences);
  }

  /** Tries the candidates from `from` on, without a promise if none is needed. */
  #verify(jwt: Jwt, candidates: VerificationKeys["all"], digest: string, from = 0): MaybePromise<Finding> {
    for (let at = from; at < candidates.length; at++) {
      const isGood = this.#verifier.verify(jwt, candidates[at]!.key, serviceAccountAlgorithms);
      if (isLate(isGood)) {
        return isGood.then((late) =>
          late ? this.#readVerified(jwt, digest) : this.#verify(jwt, candidates, digest, at + 1),
        );
      }
      if (isGood) return this.#readVerified(jwt, digest);
    }
    this.#bad.set(digest, refuse(badSignature));
    return { refusal: badSignature };
  }

  /** Reads the claims of a token with a valid signature. */
  #readVerified(jwt: Jwt, digest: string): Finding {
    const finding = readClaims(jwt, this.#names, this.#options.audiences);
    if (!isRefused(finding)) this.#verified.set(digest, finding);
    return finding;
  }

  #firstUse(token: string, digest: string, audiences: readonly string[] | undefined): MaybePromise<Authentication> {
    const jwt = parseJwt(token);
    if (jwt === undefined) return noCredentials;
    const issuer = textClaim(jwt.claims, "iss");
    if (issuer === undefined || !this.#issuers.has(issuer)) return noCredentials;
    const candidates = this.#options.keys.find(jwt.keyId);
    if (candidates.length === 0) return refuse("invalid signature, no keys found");
    // Times are checked before the expensive part, and again at every use.
    const times = timeClaims(jwt.claims);
    const problem = times === undefined ? undefined : timeProblem(times, this.#options.clock.now());
    if (problem !== undefined) return refuse(timeTexts[problem]);
    let finding: MaybePromise<Finding> | undefined = this.#waiting.get(digest);
    if (finding === undefined) {
      finding = this.#verify(jwt, candidates, digest);
      if (isLate(finding)) {
        finding = finding.finally(() => this.#waiting.delete(digest));
        this.#waiting.set(digest, finding);
      }
    }
    return andThen(finding, (result) =>
      isRefused(result) ? refuse(result.refusal) : this.#use(result, token, audiences),
    );
  }

  #use(verified: Verified, token: string, audiences: readonly string[] | undefined): Authentication {
    let { answer } = verified;
    if (audiences !== undefined || answer.outcome !== "user") {
      answer = forAudiences(verified, this.#options.audiences, audiences ?? this.#options.audiences);
      if (answer.outcome !== "user") return answer;
    }
    const now = this.#options.clock.now();
    const problem = timeProblem(verified.times, now);
    if (problem !== undefined) return refuse(timeTexts[problem]);
    return verified.isLegacy ? this.#useLegacy(verified, token, answer) : this.#useBound(verified, answer, now);
  }

  #useBound(verified: Verified, answer: Authentication & { outcome: "user" }, now: number): Authentication {
    const { namespace, account, pod, secret, node, warnAfter } = verified;
    const { find } = this.#options;
    const missing =
      accountProblem(find("serviceaccounts", namespace, account.name), verified, now) ??
      (secret && boundProblem("secret", find("secrets", namespace, secret.name), secret, now)) ??
      (pod
        ? boundProblem("pod", find("pods", namespace, pod.name), pod, now)
        : node && boundProblem("node", find("nodes", "", node.name), node, now));
    if (missing !== undefined) return refuse(missing);
    if (warnAfter === 0) return answer;
    const late = Math.floor(now / 1000) - warnAfter;
    this.#options.count?.(late > 0 ? "stale" : "valid");
    if (late <= 0) return answer;
    const stale = `subject: ${verified.subject}, seconds after warning threshold: ${late}`;
    return { ...answer, annotations: { [this.#names.staleToken]: stale } };
  }

  #useLegacy(verified: Verified, token: string, answer: Authentication & { outcome: "user" }): Authentication {
    const { namespace, account, secret: ref } = verified;
    this.#options.count?.("legacy");
    const annotations: Record<string, string> = { [this.#names.legacyToken]: verified.subject };
    if (!this.#options.lookup || ref === undefined) return { ...answer, annotations };
    const secret = this.#options.find("secrets", namespace, ref.name);
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return refuse(invalidated);
    const seen = `${secret.metadata.uid}/${secret.metadata.resourceVersion}`;
    if (verified.secretSeen !== seen) {
      if (!holdsToken(secret, token)) return refuse("service account token does not match server's copy");
      verified.secretSeen = seen;
    }
    const present = this.#options.find("serviceaccounts", namespace, account.name);
    const missing = accountProblem(present, verified, Number.POSITIVE_INFINITY);
    if (missing !== undefined || present === undefined) return refuse(missing ?? invalidated);
    const { labels = {} } = secret.metadata;
    const day = new Date(this.#options.clock.now()).toISOString().slice(0, 10);
    if (labels[this.#names.lastUsed] !== day) this.#options.usedSecret(secret, day);
    if ((labels[this.#names.invalidSince] ?? "") !== "") {
      this.#options.count?.("invalid");
      return refuse(
        `the token in secret ${namespace}/${ref.name} for service account ${namespace}/${account.name} has been marked ` +
          `invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the ` +
          `'${this.#names.invalidSince}' label from the secret to temporarily allow use of this token`,
      );
    }
    const isAutomatic = isListed(present, ref.name);
    this.#options.count?.(isAutomatic ? "automatic" : "manual");
    annotations[isAutomatic ? this.#names.automaticSecret : this.#names.manualSecret] = ref.name;
    return { ...answer, annotations, ...(isAutomatic ? { warnings: [automaticWarning] } : {}) };
  }
}

const automaticWarning =
  "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based " +
  "tokens.";
const badSignature = "invalid signature: no key of this server made it";
const invalidated = "service account token has been invalidated";
const timeTexts = {
  expired: "service account token has expired",
  "not valid yet": "service account token is not valid yet",
  "issued in the future": "service account token claims could not be validated due to unexpected validation error",
} as const;

const refuse = (reason: string): Authentication => ({ outcome: "refused", reason });

const isRefused = (finding: Finding): finding is { readonly refusal: string } => "refusal" in finding;

function claimNames({ rename }: ApiDomain) {
  return {
    bound: rename("kubernetes.io"),
    legacy: rename("kubernetes.io/serviceaccount"),
    credentialId: rename("authentication.kubernetes.io/credential-id"),
    nodeName: rename("authentication.kubernetes.io/node-name"),
    nodeUid: rename("authentication.kubernetes.io/node-uid"),
    podName: rename("authentication.kubernetes.io/pod-name"),
    podUid: rename("authentication.kubernetes.io/pod-uid"),
    staleToken: rename("authentication.k8s.io/stale-token"),
    legacyToken: rename("authentication.k8s.io/legacy-token"),
    automaticSecret: rename("authentication.k8s.io/legacy-token-autogenerated-secret"),
    manualSecret: rename("authentication.k8s.io/legacy-token-manual-secret"),
    lastUsed: rename("kubernetes.io/legacy-token-last-used"),
    invalidSince: rename("kubernetes.io/legacy-token-invalid-since"),
  };
}

type ClaimNames = ReturnType<typeof claimNames>;

/** Reads claims under a valid signature; a token of this server that lacks one is refused all the same. */
function readClaims(jwt: Jwt, names: ClaimNames, own: readonly string[]): Finding {
  const { claims } = jwt;
  const audiences = audienceClaim(claims);
  const times = timeClaims(claims);
  const subject = textClaim(claims, "sub") ?? "";
  if (audiences === undefined || times === undefined) {
    return { refusal: "service account token claims could not be validated due to unexpected validation error" };
  }
  const isLegacy = textClaim(claims, "iss") === legacyIssuer;
  const refs = isLegacy ? legacyRefs(claims, names) : boundRefs(claims, names);
  if ("refusal" in refs) return refs;
  const { namespace, account, pod, node } = refs;
  const id = isLegacy ? "" : (textClaim(claims, "jti") ?? "");
  const extra: Record<string, readonly string[]> = {
    ...(id === "" ? {} : { [names.credentialId]: [`JTI=${id}`] }),
    ...(node === undefined ? {} : { [names.nodeName]: [node.name] }),
    ...(node === undefined || node.uid === "" ? {} : { [names.nodeUid]: [node.uid] }),
    ...(pod === undefined ? {} : { [names.podName]: [pod.name], [names.podUid]: [pod.uid] }),
  };
  const user: UserInfo = {
    name: accountUserName(namespace, account.name),
    uid: account.uid,
    groups: accountGroups(namespace),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  const about = { ...refs, audiences, times, isLegacy, subject, user, secretSeen: "" };
  return { ...about, answer: forAudiences(about, own, own) };
}

/** Returns the user with those `wanted` audiences that the token has. */
function forAudiences(
  { audiences, user }: Pick<Verified, "audiences" | "user">,
  own: readonly string[],
  wanted: readonly string[],
): Authentication {
  const meant = audiences.length === 0 ? own : audiences;
  const shared = meant.filter((audience) => wanted.includes(audience));
  if (shared.length > 0) return { outcome: "user", user, audiences: shared };
  return refuse(`token audiences ${quoteList(meant)} is invalid for the target audiences ${quoteList(wanted)}`);
}

const quoteList = (texts: readonly string[]): string => `[${texts.map(goQuote).join(" ")}]`;

type Refs = Pick<Verified, "namespace" | "account" | "pod" | "secret" | "node" | "warnAfter">;

function boundRefs(claims: Readonly<Record<string, unknown>>, names: ClaimNames): Refs {
  const bound = claims[names.bound];
  const own = isObject(bound) ? bound : {};
  const ref = (name: string): ObjectRef | undefined => {
    const value = own[name];
    return isObject(value) ? { name: textClaim(value, "name") ?? "", uid: textClaim(value, "uid") ?? "" } : undefined;
  };
  const { warnafter } = own;
  return {
    namespace: textClaim(own, "namespace") ?? "",
    account: ref("serviceaccount") ?? { name: "", uid: "" },
    pod: ref("pod"),
    secret: ref("secret"),
    node: ref("node"),
    warnAfter: typeof warnafter === "number" && Number.isFinite(warnafter) ? warnafter : 0,
  };
}

function legacyRefs(claims: Readonly<Record<string, unknown>>, names: ClaimNames): Refs | { readonly refusal: string } {
  const text = (name: string): string => textClaim(claims, `${names.legacy}/${name}`) ?? "";
  const subject = textClaim(claims, "sub") ?? "";
  const [namespace, secret, name, uid] = [
    text("namespace"),
    text("secret.name"),
    text("service-account.name"),
    text("service-account.uid"),
  ];
  if (subject === "") return { refusal: "sub claim is missing" };
  if (namespace === "") return { refusal: "namespace claim is missing" };
  if (secret === "") return { refusal: "secretName claim is missing" };
  if (name === "") return { refusal: "serviceAccountName claim is missing" };
  if (uid === "") return { refusal: "serviceAccountUID claim is missing" };
  if (subject !== accountUserName(namespace, name)) return { refusal: "sub claim is invalid" };
  const none = { pod: undefined, node: undefined, warnAfter: 0 };
  return { ...none, namespace, account: { name, uid }, secret: { name: secret, uid: "" } };
}

function accountProblem(
  present: ApiObject | undefined,
  { namespace, account }: Pick<Verified, "namespace" | "account">,
  now: number,
): string | undefined {
  if (present === undefined) return `serviceaccounts ${goQuote(account.name)} not found`;
  if (isGone(present, now)) return `service account ${namespace}/${account.name} has been deleted`;
  const { uid } = present.metadata;
  return uid === account.uid ? undefined : `service account UID (${uid}) does not match claim (${account.uid})`;
}

function boundProblem(kind: string, present: ApiObject | undefined, ref: ObjectRef, now: number): string | undefined {
  if (present === undefined || isGone(present, now)) return invalidated;
  const { uid } = present.metadata;
  return uid === ref.uid
    ? undefined
    : `${kind} UID (${uid}) does not match service account ${kind} ref claim (${ref.uid})`;
}

/**
 * Whether an object was deleted for longer than clocks may differ. Until then an object in slow deletion keeps its
 * identity.
 */
function isGone({ metadata: { deletionTimestamp } }: ApiObject, now: number): boolean {
  return deletionTimestamp !== undefined && (timeToMs(deletionTimestamp) ?? 0) < now - leewayMs;
}

function holdsToken({ data }: Secret, token: string): boolean {
  const copy = Buffer.from(data?.["token"] ?? "", "base64");
  const tokenBytes = Buffer.from(token);
  return copy.length === tokenBytes.length && timingSafeEqual(copy, tokenBytes);
}

/** Whether the account lists the Secret as its own, as it does for Secrets that were made for it. */
const isListed = ({ secrets }: ServiceAccount, name: string): boolean =>
  secrets?.some((secret) => secret.name === name) === true;
