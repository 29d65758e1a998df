/** The Status with which a webhook explains a refusal. */
import type { Status, StatusCause, StatusDetails } from "#meta/status-error.ts";
import { isObject } from "#std/is-object.ts";
import { integer, struct, text, texts, wrongType } from "./answer-members.ts";

/** The parts of a Status that reach the client. */
export interface WebhookStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly metadata: Status["metadata"];
  readonly details: StatusDetails | undefined;
}

/** The field of an answer's response, with the type to which its members belong, as Go's messages name it. */
export const inResponse = "AdmissionResponse.response";

type Members = Readonly<Record<string, unknown>>;

/** Reads a Status; as in upstream, a member of another type makes the whole answer unreadable. */
export function statusOf(status: unknown): WebhookStatus | undefined {
  if (status === undefined || status === null) return undefined;
  if (!isObject(status)) throw wrongType(status, `${inResponse}.status`, "v1.Status");
  const at = "Status.response.status";
  text(status["status"], `${at}.status`);
  return {
    code: integer(status["code"], `${at}.code`, "int32") ?? 0,
    reason: text(status["reason"], `${at}.reason`, "v1.StatusReason"),
    message: text(status["message"], `${at}.message`),
    metadata: listMetaOf(struct(status["metadata"], `${at}.metadata`, "v1.ListMeta")),
    details: detailsOf(struct(status["details"], `${at}.details`, "v1.StatusDetails")),
  };
}

function listMetaOf(metadata: Members | undefined): Status["metadata"] {
  if (metadata === undefined) return {};
  const at = "ListMeta.response.status.metadata";
  const remainingItemCount = integer(metadata["remainingItemCount"], `${at}.remainingItemCount`, "int64");
  return {
    ...texts(metadata, at, { selfLink: "string", resourceVersion: "string", continue: "string" }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  };
}

function detailsOf(details: Members | undefined): StatusDetails | undefined {
  if (details === undefined) return undefined;
  const at = "StatusDetails.response.status.details";
  const { causes = null } = details;
  if (causes !== null && !Array.isArray(causes)) throw wrongType(causes, `${at}.causes`, "[]v1.StatusCause");
  const retryAfterSeconds = integer(details["retryAfterSeconds"], `${at}.retryAfterSeconds`, "int32") ?? 0;
  return {
    ...texts(details, at, { name: "string", group: "string", kind: "string", uid: "types.UID" }),
    ...(causes === null || causes.length === 0 ? {} : { causes: causes.map(causeOf) }),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  };
}

function causeOf(value: unknown): StatusCause {
  const at = "StatusCause.response.status.details.causes";
  const cause = struct(value, "StatusDetails.response.status.details.causes", "v1.StatusCause") ?? {};
  return texts(cause, at, { reason: "v1.CauseType", message: "string", field: "string" });
}
