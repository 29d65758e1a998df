/**
 * AdmissionReview: requests to webhooks, and their answers, which are checked completely before use. Source:
 * `admission.k8s.io/v1` and upstream's `admission/plugin/webhook/request`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { base64Error, canonicalBase64 } from "#schema/base64.ts";
import { isObject } from "#std/is-object.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { ReviewError, text, textList, textMap, unreadable, wrongType } from "./answer-members.ts";
import { inResponse, statusOf, type WebhookStatus } from "./webhook-status.ts";

/** The versions of AdmissionReview that this server can send. */
export const reviewVersions = ["v1", "v1beta1"] as const;
export type ReviewVersion = (typeof reviewVersions)[number];

export interface ReviewAnswer {
  readonly allowed: boolean;
  /** The Status with which the webhook explains a refusal. */
  readonly status: WebhookStatus | undefined;
  /** A JSON Patch as text; `undefined` for none. */
  readonly patch: Buffer | undefined;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** The objects of a write in one form. */
export interface ReviewObjects {
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
}

/** The JSON of objects, written once for all webhooks that see the same form. */
const texts = new WeakMap<ReviewObjects, string>();

function textOf(objects: ReviewObjects): string {
  let text = texts.get(objects);
  if (text === undefined) {
    const { object = null, oldObject = null } = objects;
    text = `"object":${JSON.stringify(object)},"oldObject":${JSON.stringify(oldObject)}`;
    texts.set(objects, text);
  }
  return text;
}

/** Returns the body of the question. */
export function reviewBody(
  { options, ...request }: AdmissionRequest,
  objects: ReviewObjects,
  version: ReviewVersion,
  { rename }: ApiDomain,
): Buffer {
  const head = JSON.stringify(request).slice(0, -1);
  const apiVersion = JSON.stringify(rename(`admission.k8s.io/${version}`));
  const last = `"options":${options === undefined ? "null" : JSON.stringify(options)}`;
  return Buffer.from(
    `{"kind":"AdmissionReview","apiVersion":${apiVersion},"request":${head},${textOf(objects)},${last}}}`,
  );
}

interface ExpectedAnswer {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly isMutating: boolean;
  readonly domain: ApiDomain;
}

const invalidAnswer = (why: string): ReviewError => new ReviewError(`received invalid webhook response: ${why}`);

/** Reads an answer. Throws a `ReviewError`. */
export function readAnswer(review: Readonly<Record<string, unknown>>, expected: ExpectedAnswer): ReviewAnswer {
  const { response } = review;
  if (response === undefined || response === null) throw invalidAnswer("webhook response was absent");
  if (!isObject(response)) throw wrongType(response, "AdmissionReview.response", "v1.AdmissionResponse");
  if (expected.version === "v1") checkIdentity(review, response, expected);
  const auditAnnotations = textMap(response["auditAnnotations"], `${inResponse}.auditAnnotations`);
  const allowed = response["allowed"] ?? false;
  if (typeof allowed !== "boolean") throw wrongType(allowed, `${inResponse}.allowed`, "bool");
  return {
    allowed,
    status: statusOf(response["status"]),
    patch: patchOf(response, expected),
    auditAnnotations,
    warnings: textList(response["warnings"], `${inResponse}.warnings`),
  };
}

function checkIdentity(
  review: Readonly<Record<string, unknown>>,
  response: Readonly<Record<string, unknown>>,
  { uid, domain }: ExpectedAnswer,
): void {
  const answeredUid = text(response["uid"], `${inResponse}.uid`, "types.UID");
  if (answeredUid !== uid)
    throw invalidAnswer(`expected response.uid=${goQuote(uid)}, got ${goQuote(answeredUid.slice(0, shownMax))}`);
  const wanted: GroupVersionKind = { group: domain.rename("admission.k8s.io"), version: "v1", kind: "AdmissionReview" };
  const kind = text(review["kind"], "AdmissionReview.kind");
  const apiVersion = text(review["apiVersion"], "AdmissionReview.apiVersion");
  if (kind === wanted.kind && apiVersion === apiVersionOf(wanted)) return;
  const reviewVersion = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  throw invalidAnswer(
    `expected webhook response of ${shown(wanted)}, got ${shown({ ...reviewVersion, kind }).slice(0, shownMax)}`,
  );
}

const shown = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`;

/** The maximum length of a webhook's text that an error message repeats. */
const shownMax = 256;

function patchOf(
  response: Readonly<Record<string, unknown>>,
  { version, isMutating }: ExpectedAnswer,
): Buffer | undefined {
  const encoded = text(response["patch"], `${inResponse}.patch`, "[]uint8");
  if (canonicalBase64(encoded) === undefined) throw unreadable(base64Error(encoded));
  const patchType = response["patchType"] ?? undefined;
  const type = patchType === undefined ? undefined : text(patchType, `${inResponse}.patchType`, "v1.PatchType");
  if (!isMutating) {
    if (version === "v1beta1") return undefined;
    if (encoded !== "") throw invalidAnswer("validating webhook may not return response.patch");
    if (type !== undefined) throw invalidAnswer("validating webhook may not return response.patchType");
    return undefined;
  }
  if (version === "v1") {
    if (encoded !== "" && type === undefined) {
      throw invalidAnswer("webhook returned response.patch but not response.patchType");
    }
    if (encoded === "" && type !== undefined) {
      throw invalidAnswer("webhook returned response.patchType but not response.patch");
    }
    if (type === "") throw invalidAnswer('webhook returned invalid response.patchType of ""');
  }
  const patch = Buffer.from(encoded, "base64");
  if (isEmpty(patch)) return undefined;
  // Upstream reads the patch before it looks at the type: what is no patch fails when it is applied.
  if (type !== undefined && type !== "JSONPatch" && isList(patch)) {
    throw new ReviewError(`unsupported patch type ${goQuote(type.slice(0, shownMax))}`);
  }
  return patch;
}

/** Whether a patch has no operations. */
const isEmpty = (patch: Buffer): boolean =>
  patch.length === 0 || (patch.length < 16 && ["[]", "null"].includes(patch.toString().trim()));

function isList(patch: Buffer): boolean {
  try {
    return Array.isArray(JSON.parse(patch.toString()));
  } catch {
    return false;
  }
}
