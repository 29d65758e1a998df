/**
 * The interface of admission plugins. A plugin sees the object in the version of the request, after defaults. It reads
 * other objects through functions passed to its constructor, never through stores.
 */
import type { GroupVersionKind, GroupVersionResource } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { forbidden, type StatusCause, StatusError, unclassified } from "#meta/status-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionAttributes {
  readonly context: RequestContext;
  readonly operation: Operation;
  readonly resource: GroupVersionResource;
  /** The kind of the body, which is not that of the resource for some subresources. */
  readonly kind: GroupVersionKind;
  /** The namespace; empty for cluster-scoped resources. */
  readonly namespace: string;
  /**
   * The name; empty for a create whose name will be generated, and for the deletion of a collection, where `objectName`
   * returns it.
   */
  readonly name: string;
  /** Whether the store made the name, after the plugins that change objects. */
  readonly isNameGenerated?: boolean;
  /** The name in the path of the request: empty for a POST, even when the body has a name. */
  readonly pathName: string;
  /** The subresource; empty for the main resource. */
  readonly subresource: string;
  /** The object to write; `undefined` for deletes. */
  readonly object: ApiObject | undefined;
  /** The stored object; `undefined` for creates. */
  readonly oldObject: ApiObject | undefined;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as webhooks receive them. */
  readonly options: Readonly<Record<string, unknown>> | undefined;
}

/**
 * One run of all mutating plugins for a write. It is repeated once, with the object as it then is, when a plugin asks
 * for it: plugins may want to react to changes of later plugins.
 */
export interface MutationRound {
  readonly isSecond: boolean;
  repeat(): void;
  /** Data that plugins keep from the first round to the second, by the names of the plugins. */
  readonly notes: Map<string, unknown>;
}

/**
 * An admission plugin. Its methods answer at once or with a promise, and throw `StatusError` to refuse. If the request
 * ends while the chain waits for the promise, the chain ignores the answer; a plugin that waits long may end its own
 * work by `context.signal`. Both methods run once for each attempt of a write: they run again, with the object as it
 * then is, when another write came in between. They also run for actions, which store nothing (TokenReview,
 * SubjectAccessReview), and for writes of the server itself and its controllers, with their own users: a plugin that
 * refuses such writes keeps the server from starting.
 */
export interface AdmissionPlugin {
  /** The name in `--enable-admission-plugins`; upstream's, where upstream has the plugin. */
  readonly name: string;
  readonly operations: readonly Operation[];
  /**
   * Changes the object, or refuses it: returns a changed copy, or `undefined` for no change. A plugin should check the
   * resource before it reads the object, which may have to be decoded. Called for deletes, too.
   */
  admit?(attributes: AdmissionAttributes, round: MutationRound): MaybePromise<ApiObject | undefined>;
  /** Refuses the object, or does nothing. */
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

/** Whether a resource is that of pods. */
export const isPods = ({ group, resource }: GroupVersionResource): boolean => resource === "pods" && group === "";

/**
 * Returns the name of the object, also of one in a deleted collection; empty for a create whose name will be generated.
 */
export const objectName = ({ name, object, oldObject }: AdmissionAttributes): string =>
  name === "" ? ((oldObject ?? object)?.metadata.name ?? "") : name;

/**
 * Returns the attributes with another object. A spread would not do: attributes may decode their objects when they are
 * read.
 */
export const withObject = (attributes: AdmissionAttributes, object: ApiObject | undefined): AdmissionAttributes => ({
  context: attributes.context,
  operation: attributes.operation,
  resource: attributes.resource,
  kind: attributes.kind,
  namespace: attributes.namespace,
  name: attributes.name,
  pathName: attributes.pathName,
  subresource: attributes.subresource,
  object,
  oldObject: attributes.oldObject,
  dryRun: attributes.dryRun,
  options: attributes.options,
});

/** A refusal in the plugin's words, as clients see it. */
export function refusal(
  attributes: Pick<AdmissionAttributes, "resource" | "name" | "object">,
  reason: string,
  causes: readonly StatusCause[] = [],
): StatusError {
  const { metadata } = attributes.object ?? { metadata: undefined };
  const name = [attributes.name, metadata?.name, metadata?.generateName].find((text) => (text ?? "") !== "");
  const { status } = forbidden(attributes.resource, name ?? "Unknown", reason);
  const shown = causes.length === 0 ? status : { ...status, details: { ...status.details, causes } };
  return new StatusError(shown, { showsValues: false });
}

/** An error of a plugin that is no refusal, as upstream: code 500 without a reason. */
export const pluginFailure = (message: string): StatusError =>
  new StatusError(unclassified(message).status, { showsValues: false });
