/**
 * The event loop's side of a large request: the data sent to its thread, and the answers to the thread's calls
 * about store, admission, authorization, allocations, and audit log.
 */
import type { AdmissionAttributes } from "#admission/plugin.ts";
import { shownError } from "#http/confidential.ts";
import type { Scope } from "#http/scope.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { writeWhile } from "#registry/conditional-write.ts";
import type { Allocated } from "#registry/resource-definition.ts";
import { encodedInThread, parseObject } from "#registry/stored-object.ts";
import type { Clock } from "#std/clock.ts";
import { andThen } from "#std/maybe-promise.ts";
import { ownCopy } from "#std/own-copy.ts";
import type { Turn } from "#storage/log-store.ts";
import type { CacheReader, CacheWriter, Entry } from "#storage/watch-cache.ts";
import type { HostCall, HostCalls, SentAttributes, SentEntry, SentObject, SentRequest } from "./messages.ts";
import { bufferOf } from "./worker-cache.ts";
import type { PendingJob } from "./worker-thread.ts";

export interface WorkerHostOptions {
  readonly clock: Clock;
  readonly cache: CacheReader & CacheWriter;
  /** The stored form of the definition of a custom resource. */
  definitionOf(name: string): Entry | undefined;
}

/** One request, and the answers to the calls of its thread. */
export class WorkerHost implements Omit<PendingJob, "user" | "finish"> {
  readonly #scope: Scope;
  readonly #body: Buffer;
  readonly #options: WorkerHostOptions;
  readonly #definitionName: string;
  #definition: Entry | undefined;
  #reservation: Allocated | undefined;
  /** The last use of the reservation; a thread handles one request at a time. */
  #lastUse: Promise<unknown> | undefined;

  constructor(scope: Scope, body: Buffer, options: WorkerHostOptions) {
    this.#scope = scope;
    this.#body = body;
    this.#options = options;
    const { group, resource } = scope.definition;
    this.#definitionName = `${resource}.${group}`;
  }

  message(): SentRequest {
    const { request, store, namespace, name, definition, parts } = this.#scope;
    const { cache, clock } = this.#options;
    const { method, url, path, info, user, auditId, receivedMs, deadlineMs } = request;
    const headers: Record<string, string> = {};
    for (const key of sentHeaders) {
      const value = request.headers[key];
      if (value !== undefined) headers[key] = value;
    }
    const entry = name === "" ? undefined : store.peek(namespace, name);
    let custom: SentRequest["definition"];
    if (definition.custom !== undefined) {
      this.#definition = this.#options.definitionOf(this.#definitionName);
      custom = { name: this.#definitionName, revision: this.#definition?.revision ?? 0 };
    }
    return {
      type: "request",
      given: { method, url, path, headers, info, user: sentUser(user), auditId, receivedMs, deadlineMs },
      isAudited: request.audit !== undefined,
      isConfidential: parts.isConfidential(definition),
      nowMs: clock.now(),
      body: this.#body,
      entry: entry === undefined ? undefined : sentEntry(entry, cache),
      revision: cache.revision,
      definition: custom,
    };
  }

  warn(texts: readonly string[]): void {
    for (const text of texts) this.#scope.context.warn(text);
  }

  async answer(call: HostCall): Promise<HostCalls[keyof HostCalls]["answer"]> {
    try {
      return await this.#answer(call);
    } catch (error) {
      throw shownError(this.#scope, error);
    }
  }

  async #answer({ name, parameters }: HostCall): Promise<HostCalls[keyof HostCalls]["answer"]> {
    const { request, parts } = this.#scope;
    switch (name) {
      case "definition":
        return this.#definition?.value ?? Promise.reject(new Error(`${this.#definitionName} is gone`));
      case "read": {
        return andThen(
          this.#options.cache.getFresh(parameters),
          (entry) => entry && sentEntry(entry, this.#options.cache),
        );
      }
      case "write":
        return this.#whileReserved(() => this.#write(parameters));
      case "admit":
        return this.#admit(this.#attributes(parameters));
      case "validate":
        await parts.admission.validate(this.#attributes(parameters));
        return undefined;
      case "allocate":
        return this.#whileReserved(() => this.#allocate(parameters));
      case "authorize":
        return parts.authorizer.authorize({ ...parameters, user: request.user });
      case "convert":
        return this.#convert(parameters);
      case "sent":
        if (parameters === undefined) request.audit?.sentPatch(this.#body);
        else request.audit?.sent(parseBytes(parameters));
        return undefined;
    }
  }

  async #convert({ objects, apiVersion }: HostCalls["convert"]["parameters"]): Promise<Uint8Array> {
    const { definition } = this.#scope;
    const { webhook: remote } = definition.conversion ?? {};
    if (remote === undefined) throw new Error(`${definition.resource} have no conversion webhook`);
    const sent = parseObject(bufferOf(objects).toString()) as unknown as readonly Unstructured[]; // as the thread encoded them
    return Buffer.from(JSON.stringify(await remote.convertRaw(sent, apiVersion, this.#scope.request)));
  }

  async #write({
    key,
    expected,
    object,
    ttlSeconds,
    isForDeletion,
    note,
  }: HostCalls["write"]["parameters"]): Promise<HostCalls["write"]["answer"]> {
    const { cache } = this.#options;
    const { context, namespace, store } = this.#scope;
    const encoded =
      object === undefined ? undefined : encodedInThread({ ...object, bytes: bufferOf(object.bytes) }, object.labels);
    const turn = this.#turnOf(object);
    const result = await writeWhile(
      context,
      (conditions) =>
        encoded === undefined
          ? cache.remove(key, expected, { ...conditions, ...turn, note })
          : cache.put(key, expected, encoded, { ...conditions, ...turn, ttlSeconds, isForDeletion }),
      expected === 0 ? store.creationIn(namespace, key.slice(key.lastIndexOf("/") + 1)) : undefined,
    );
    if (!result.ok) {
      const { current, failed } = result;
      return { ok: false, current: current && sentEntry(current, cache), failed };
    }
    const { revision, created } = result.entry;
    context.wrote?.(key, revision);
    await store.inForce(revision);
    return { ok: true, revision, created };
  }

  /** Returns the turn of a write, as an option of the write. */
  #turnOf(object: SentObject | undefined): { readonly turn?: Turn } {
    const { turn: decides } = this.#scope.definition.strategy;
    const turn = this.#reservation?.turn ?? (object && decides?.(parseBytes(object.bytes)));
    return turn === undefined ? {} : { turn };
  }

  async #allocate({ object, old, subresource, dryRun }: HostCalls["allocate"]["parameters"]): Promise<Uint8Array> {
    const { definition, context } = this.#scope;
    const { allocate } = definition.strategy;
    if (allocate === undefined) throw new Error(`${definition.resource} are given nothing`);
    this.#reservation?.release();
    this.#reservation = await allocate(parseBytes(object), old && parseBytes(old), { context, subresource, dryRun });
    return Buffer.from(JSON.stringify(this.#reservation.object));
  }

  /** Runs work that uses or changes the reservation. */
  async #whileReserved<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#lastUse = running.catch(() => undefined);
    return running;
  }

  /** Ends the job. Its reservation is released after a pending write has ended. */
  async end(): Promise<void> {
    await this.#lastUse;
    this.#reservation?.release();
  }

  async #admit(attributes: AdmissionAttributes): Promise<Uint8Array | undefined> {
    const changed = await this.#scope.parts.admission.admit(attributes);
    return changed === undefined ? undefined : Buffer.from(JSON.stringify(changed));
  }

  /** Returns attributes whose objects are decoded only when a plugin reads them; few plugins do. */
  #attributes({ object, oldObject, ...attributes }: SentAttributes): AdmissionAttributes {
    const { context } = this.#scope;
    let decoded: Unstructured | undefined;
    let decodedOld: Unstructured | undefined;
    return {
      ...attributes,
      context,
      get object() {
        return (decoded ??= object && parseBytes(object));
      },
      get oldObject() {
        return (decodedOld ??= oldObject && parseBytes(oldObject));
      },
    };
  }
}

const parseBytes = (json: Uint8Array): Unstructured => parseObject(bufferOf(json).toString());

/** Headers that handlers read. */
const sentHeaders = ["accept", "content-type", "user-agent"];

const sentUser = ({ name, uid, groups, extra }: UserInfo): UserInfo => ({
  name,
  groups: [...groups],
  ...(uid === undefined ? {} : { uid }),
  ...(extra === undefined ? {} : { extra: { ...extra } }),
});

const sentEntry = (entry: Entry, cache: Pick<CacheWriter, "isStale">): SentEntry => ({
  key: entry.key,
  value: ownCopy(entry.value),
  revision: entry.revision,
  created: entry.created,
  unreadable: entry.unreadable,
  isStale: cache.isStale(entry.key),
});
