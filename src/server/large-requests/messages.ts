/** Messages between the event loop and the threads of large requests. All of them can be cloned structurally. */
import type { AdmissionAttributes } from "#admission/plugin.ts";
import type { Attributes, Verdict } from "#authz/authorizer.ts";
import type { HandledRequest } from "#http/api-request.ts";
import type { Status } from "#meta/status-error.ts";
import type { FailedCondition, Revision } from "#storage/log-store.ts";
import type { KindFlags } from "../served-kinds/flags.ts";

/** The start data of a thread. */
export interface ThreadStart {
  readonly apiDomain: string;
  readonly kindFlags: KindFlags;
  readonly bodyLimitBytes: number;
  readonly objectBytesMax: number;
  /** Resources (`/services`) whose objects get allocated values such as addresses, as `group/resource`. */
  readonly allocating: readonly string[];
}

/** An entry of the store. */
export interface SentEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: Revision;
  readonly created: Revision;
  readonly unreadable: string | undefined;
  /** Whether the entry is written again even without a change. */
  readonly isStale: boolean;
}

/** A request as the router got it. */
export interface SentRequest {
  readonly type: "request";
  readonly given: Pick<
    HandledRequest,
    "method" | "url" | "path" | "headers" | "info" | "user" | "auditId" | "receivedMs" | "deadlineMs"
  >;
  /** Whether the audit log records bodies. */
  readonly isAudited: boolean;
  /** Whether messages must not show values of the object. */
  readonly isConfidential: boolean;
  readonly nowMs: number;
  readonly body: Uint8Array;
  /** The stored entry of the object, when the path names one that exists. */
  readonly entry: SentEntry | undefined;
  readonly revision: Revision;
  /** For a custom resource: the name of its definition, and the served revision of the definition. */
  readonly definition: { readonly name: string; readonly revision: Revision } | undefined;
}

/** A JSON value to be encoded in another encoding. */
export interface SentValue {
  readonly type: "value";
  readonly json: Uint8Array;
  readonly mediaType: string;
}

export type Job = SentRequest | SentValue;

/** Attributes of admission without the fields that the event loop knows; objects are JSON. */
export type SentAttributes = Pick<
  AdmissionAttributes,
  "operation" | "resource" | "kind" | "namespace" | "name" | "pathName" | "subresource" | "dryRun" | "options"
> & { readonly object: Uint8Array | undefined; readonly oldObject: Uint8Array | undefined };

/** An object encoded for storage (`#storage/versioned-value.ts`). */
export interface SentObject {
  readonly bytes: Uint8Array;
  readonly revisionOffset: number;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** The calls of a thread to the event loop by name, with the types of their parameters and answers. */
export interface HostCalls {
  readonly definition: { readonly parameters: undefined; readonly answer: Uint8Array };
  readonly write: {
    readonly parameters: {
      readonly key: string;
      readonly expected: Revision;
      /** `undefined` removes the entry. */
      readonly object: SentObject | undefined;
      readonly ttlSeconds: number;
      /** Whether the write is allowed on a full disk. */
      readonly isForDeletion: boolean;
      /** The note of a removal. */
      readonly note: string | undefined;
    };
    readonly answer:
      | { readonly ok: true; readonly revision: Revision; readonly created: Revision }
      | { readonly ok: false; readonly current: SentEntry | undefined; readonly failed: FailedCondition };
  };
  /** Reads the current entry of a key. */
  readonly read: { readonly parameters: string; readonly answer: SentEntry | undefined };
  /** Admits an object. The answer is the changed object; `undefined` when nothing changed. */
  readonly admit: { readonly parameters: SentAttributes; readonly answer: Uint8Array | undefined };
  /**
   * Allocates values such as addresses for an object. The answer is the object with them; they are reserved until the
   * job has ended.
   */
  readonly allocate: {
    readonly parameters: {
      readonly object: Uint8Array;
      readonly old: Uint8Array | undefined;
      readonly subresource: string;
      readonly dryRun: boolean;
    };
    readonly answer: Uint8Array;
  };
  readonly validate: { readonly parameters: SentAttributes; readonly answer: undefined };
  readonly authorize: { readonly parameters: Attributes; readonly answer: Verdict };
  /** Converts objects of the request's kind, a JSON array, by the conversion webhook. */
  readonly convert: {
    readonly parameters: { readonly objects: Uint8Array; readonly apiVersion: string };
    readonly answer: Uint8Array;
  };
  /** Records the body for the audit log: the decoded object, or the body as sent for `undefined`. */
  readonly sent: { readonly parameters: Uint8Array | undefined; readonly answer: undefined };
}

export type HostCall = {
  readonly [Name in keyof HostCalls]: { readonly name: Name; readonly parameters: HostCalls[Name]["parameters"] };
}[keyof HostCalls];

/** A failure: a status for the client, an exceeded stack, or the text of an internal error. */
export type SentFailure = { readonly status: Status } | { readonly isTooDeep: true } | { readonly error: string };

/** An encoded reply. */
export interface SentReply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly contentType: string | undefined;
  readonly compressible: boolean;
  readonly bytes: Uint8Array;
  /** The content as JSON, for the audit log. */
  readonly json?: Uint8Array | undefined;
}

export type FromThread =
  | { readonly type: "call"; readonly id: number; readonly call: HostCall }
  | { readonly type: "reply"; readonly reply: SentReply; readonly warnings: readonly string[] }
  | { readonly type: "failure"; readonly failure: SentFailure; readonly warnings: readonly string[] };

export type ToThread =
  | { readonly type: "job"; readonly job: Job }
  | { readonly type: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly type: "failed"; readonly id: number; readonly failure: SentFailure };
