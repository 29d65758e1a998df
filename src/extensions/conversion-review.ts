/**
 * ConversionReview: sends objects of custom resources to a conversion webhook and checks the result. A webhook may not
 * change the identity of an object; of its metadata it may change labels and annotations only. Source: the answers of
 * kube-apiserver 1.32.
 */
import type { WebhookConversion } from "#api/apiextensions/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { aggregate, type FieldError, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { apiVersionOf, parseApiVersion } from "#meta/group-version.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";
import { StatusError, unclassified } from "#meta/status-error.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { goTypeOf } from "#schema/go-text.ts";
import { isObject } from "#std/is-object.ts";
import type { ConversionCaller } from "#registry/resource-definition.ts";
import type { Random } from "#std/random.ts";
import { mapCooperatively } from "#std/cooperative.ts";

/**
 * Sends a review, as JSON, to the webhook, and resolves with its decoded answer. Rejects with upstream's message, or
 * with a `StatusError`, which clients get unchanged.
 */
type AskReview = (
  webhook: WebhookConversion,
  review: Buffer,
  question: ConversionQuestion,
  caller: ConversionCaller | undefined,
) => Promise<unknown>;

/** The parts of a review that a trace shows. */
interface ConversionQuestion {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: number;
}

/** Converts objects of one custom resource to another version. Rejects with `StatusError` (500, or 429). */
export type ConvertObjects = (
  webhook: WebhookConversion,
  objects: readonly Unstructured[],
  apiVersion: string,
  caller?: ConversionCaller,
) => Promise<readonly Unstructured[]>;

/** The supported versions of reviews, the preferred one first. */
const reviewVersions = ["v1", "v1beta1"];

export function conversionByReview(domain: ApiDomain, random: Random, ask: AskReview): ConvertObjects {
  const group = domain.rename("apiextensions.k8s.io");
  return async (webhook, objects, apiVersion, caller) => {
    const [first] = objects;
    if (first === undefined) return [];
    const reviewVersion = webhook.conversionReviewVersions?.find((name) => reviewVersions.includes(name));
    const failed = (problem: string): Error => unclassified(`conversion webhook for ${typeOf(first)} ${problem}`);
    const review: SentReview = {
      kind: "ConversionReview",
      apiVersion: apiVersionOf({ group, version: reviewVersion ?? reviewVersions[0]! }),
      request: { uid: random.uuid(), desiredAPIVersion: apiVersion },
    };
    const body = await bodyOf(review, objects);
    let converted: readonly unknown[];
    try {
      const question = { ...review.request, objects: objects.length };
      converted = convertedObjects(await ask(webhook, body, question, caller), review);
    } catch (error) {
      if (error instanceof StatusError) throw error;
      throw failed(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (converted.length !== objects.length) {
      throw failed(`returned ${converted.length} objects, expected ${objects.length}`);
    }
    return mapCooperatively(converted, (object, index) =>
      restoreMetadata(object, objects[index]!, apiVersion, index, failed),
    );
  };
}

interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string };
}

async function bodyOf({ request, ...review }: SentReview, objects: readonly Unstructured[]): Promise<Buffer> {
  const texts = await mapCooperatively(objects, (object) => JSON.stringify(object));
  const head = JSON.stringify(review).slice(0, -1);
  const asked = JSON.stringify(request).slice(0, -1);
  const response = '{"uid":"","convertedObjects":null,"result":{"metadata":{}}}';
  return Buffer.from(`${head},"request":${asked},"objects":[${texts.join()}]},"response":${response}}`);
}

/**
 * Returns the converted objects. Throws when the answer is not a successful one to this review. As upstream, an answer
 * in v1beta1 may lack its type, and its uid is not compared.
 */
function convertedObjects(answer: unknown, { apiVersion, request }: SentReview): readonly unknown[] {
  if (!isObject(answer)) throw new Error("couldn't get version/kind; the answer is no object");
  const { kind, apiVersion: actualVersion } = answer;
  const isStrict = !apiVersion.endsWith("/v1beta1");
  const isExpected = (actual: unknown, wanted: string): boolean =>
    actual === wanted || (!isStrict && (actual ?? "") === "");
  if (!isExpected(kind, "ConversionReview") || !isExpected(actualVersion, apiVersion)) {
    const got = `${shown(actualVersion).includes("/") ? "" : "/"}${shown(actualVersion)}, Kind=${shown(kind)}`;
    throw new Error(`expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${got}`);
  }
  const { response } = answer;
  if (!isObject(response)) throw new Error("no response provided");
  if (isStrict && response["uid"] !== request.uid) {
    throw new Error(`expected response.uid=${text(request.uid)}, got ${text(response["uid"])}`);
  }
  const { result } = response;
  const { status = "", message = "" } = isObject(result) ? result : {};
  if (status !== "Success") {
    const isTold = typeof message === "string" && message !== "";
    throw new Error(isTold ? message : `response.result.status was '${String(status)}', not 'Success'`);
  }
  const objects = response["convertedObjects"] ?? [];
  if (!Array.isArray(objects)) throw new Error("response.convertedObjects is no list");
  return objects as readonly unknown[];
}

const text = (value: unknown): string => JSON.stringify(value ?? "");
const shown = (value: unknown = ""): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns the converted form of `original`, with the metadata that a webhook may not change. */
function restoreMetadata(
  object: unknown,
  original: Unstructured,
  apiVersion: string,
  index: number,
  failed: (problem: string) => Error,
): Unstructured {
  const { kind, metadata: before } = original;
  if (!isObject(object)) throw failed(`returned invalid object at index ${index}: it is no object`);
  const said = object["apiVersion"] ?? "";
  if (said !== apiVersion) {
    throw failed(
      `returned invalid object at index ${index}: invalid groupVersion (expected ${apiVersion}, received ${shown(said)})`,
    );
  }
  if (object["kind"] !== kind) {
    throw failed(
      `returned invalid object at index ${index}: invalid kind (expected ${kind}, received ${shown(object["kind"])})`,
    );
  }
  const metadata = isObject(object["metadata"]) ? object["metadata"] : {};
  for (const [key, name] of identity) {
    const [old, now] = [before[key] ?? "", metadata[key] ?? ""];
    if (old !== now) throw failed(`returned invalid object: must have the same ${name}: ${old} != ${shown(now)}`);
  }
  return {
    ...object,
    kind,
    apiVersion,
    metadata: withLabelsOf(metadata, before, failed),
  } as Unstructured;
}

const identity = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["uid", "UID"],
] as const;

const metadataPath = FieldPath.of("metadata");

/** Returns the metadata with the labels and annotations of the webhook's object; all other metadata is unchanged. */
function withLabelsOf(
  metadata: Readonly<Record<string, unknown>>,
  { labels: _oldLabels, annotations: _oldAnnotations, ...rest }: ObjectMeta,
  failed: (problem: string) => Error,
): ObjectMeta {
  const [labels, annotations] = [textsOf(metadata, "labels", failed), textsOf(metadata, "annotations", failed)];
  const check = (errors: readonly FieldError[]): void => {
    if (errors.length > 0) throw failed(`returned invalid metadata: ${aggregate(errors.map(printFieldError))}`);
  };
  check(validateLabels(labels, metadataPath.child("labels")));
  // Upstream names the field so.
  check(validateAnnotations(annotations, metadataPath.child("annotation")));
  return {
    ...rest,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

/** Returns a map of texts; `undefined` for an empty one. */
function textsOf(
  metadata: Readonly<Record<string, unknown>>,
  name: "labels" | "annotations",
  failed: (problem: string) => Error,
): Readonly<Record<string, string>> | undefined {
  const value = metadata[name] ?? undefined;
  if (value === undefined) return undefined;
  const wrong = (problem: string): Error => failed(`returned invalid metadata: ${problem} in converted object`);
  if (!isObject(value)) throw wrong(`invalid metadata.${name} of type ${goTypeOf(value)}`);
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "string") throw wrong(`metadata.${name}[${key}] must be a string, but is ${goTypeOf(item)}`);
  }
  return Object.keys(value).length === 0 ? undefined : (value as Readonly<Record<string, string>>); // checked above
}

/** Returns `stable.example.com/v1, Kind=Port`, the form of types in messages. */
function typeOf({ apiVersion = "", kind }: Unstructured): string {
  const gv = parseApiVersion(apiVersion);
  return `${gv === undefined ? apiVersion : apiVersionOf(gv)}, Kind=${kind}`;
}
