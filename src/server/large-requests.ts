/**
 * Large requests, beside the event loop: a few threads (`large-requests/thread.ts`), each with one request at a time and
 * bounds of time (the request's deadline) and memory. One that exceeds them is ended with its thread, and nobody else's.
 * What a handler needs of the server is answered here: the store, admission, authorization, the audit log.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { AdmissionAttributes } from "#admission/plugin.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { LargeRequests } from "#http/large-requests.ts";
import type { Scope } from "#http/scope.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { requestTooLarge } from "#meta/status-error.ts";
import type { Allocated } from "#registry/resource-definition.ts";
import { encodedElsewhere, parseObject } from "#registry/stored-object.ts";
import type { Clock } from "#std/clock.ts";
import type { Backend, Entry, Revision } from "#storage/backend.ts";
import { errorOf, failureOf } from "./large-requests/ask.ts";
import type {
  FromThread,
  Job,
  Question,
  Questions,
  SentAttributes,
  SentEntry,
  SentReply,
  SentRequest,
  ThreadStart,
  ToThread,
} from "./large-requests/messages.ts";
import { bufferOf, withRevision } from "./large-requests/remote-backend.ts";

export interface LargeRequestOptions extends ThreadStart {
  readonly clock: Clock;
  readonly backend: Backend;
  /** The stored form of the definition of a custom resource. */
  definitionOf(name: string): Entry | undefined;
}

/** Threads at most. A user has one at a time, so that the others find one free. */
const threadsMax = 2;
/** Megabytes of objects a thread may have; the largest bodies of honest clients need a tenth. */
const heapMbMax = 320;
/** A thread without work ends after so long. */
const idleMs = 60_000;

interface Waiting {
  /** Who asks: users take turns. */
  readonly user: string;
  /** Made when the job begins, so that it sees what is stored then. */
  job(): Job;
  answer(question: Question): Promise<Questions[keyof Questions]["answer"]>;
  warn?(texts: readonly string[]): void;
  settle(end: { readonly reply: SentReply } | { readonly error: Error }): void;
}

export class LargeRequestThreads implements LargeRequests {
  readonly #options: LargeRequestOptions;
  /** In the order in which they came. */
  #waiting: Waiting[] = [];
  readonly #threads = new Set<Thread>();
  #closed = false;

  constructor(options: LargeRequestOptions) {
    this.#options = options;
  }

  async handle(scope: Scope): Promise<Reply> {
    const { request } = scope;
    const body = await request.body(scope.parts.bodyLimitBytes);
    // Whoever waits for a thread, or is in one, keeps nobody from the event loop.
    request.seats?.end();
    const exchange = new Exchange(scope, body, this.#options);
    const running = this.#run(request.user.name, request.signal, exchange).finally(() => exchange.end());
    const { headers, bytes, ...reply } = await running;
    return { ...reply, ...(headers === undefined ? {} : { headers }), bytes: bufferOf(bytes) } as Reply; // absent as undefined
  }

  async yaml(json: Buffer, { user, signal }: ApiRequest): Promise<Buffer> {
    const { bytes } = await this.#run(user.name, signal, {
      job: () => ({ type: "yaml", json }),
      answer: () => Promise.reject(new Error("nothing is asked for a value")),
    });
    return bufferOf(bytes);
  }

  /** Ends all threads. Nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { settle } of this.#waiting.splice(0)) settle({ error: new Error("the server is closed") });
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #run(user: string, signal: AbortSignal, work: Omit<Waiting, "user" | "settle">): Promise<SentReply> {
    if (this.#closed) return Promise.reject(new Error("the server is closed"));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        user,
        job: () => work.job(),
        answer: (question) => work.answer(question),
        warn: (texts) => work.warn?.(texts),
        settle(end) {
          signal.removeEventListener("abort", giveUp);
          if ("reply" in end) resolve(end.reply);
          else reject(end.error);
        },
      };
      const giveUp = (): void => {
        const reason: unknown = signal.reason;
        waiting.settle({ error: reason instanceof Error ? reason : new Error(String(reason)) });
        this.#forget(waiting);
      };
      if (signal.aborted) {
        giveUp();
        return;
      }
      signal.addEventListener("abort", giveUp);
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** Nobody waits for the answer any more. */
  #forget(gone: Waiting): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting !== gone);
    for (const thread of this.#threads) if (thread.running === gone) void thread.end();
  }

  #next(): void {
    while (this.#waiting.length > 0 && !this.#closed) {
      const idle = [...this.#threads].find(({ isIdle }) => isIdle);
      if (idle === undefined && this.#threads.size >= threadsMax) return;
      const index = this.#nextIndex();
      if (index < 0) return;
      const thread = idle ?? this.#open();
      const [waiting] = this.#waiting.splice(index, 1);
      thread.begin(waiting!); // there is one
    }
  }

  /** The first of a user who has nothing under way; -1 for none. */
  #nextIndex(): number {
    const busy = new Set([...this.#threads].flatMap(({ running }) => (running === undefined ? [] : [running.user])));
    return this.#waiting.findIndex(({ user }) => !busy.has(user));
  }

  #open(): Thread {
    const { options, bodyLimitBytes, objectBytesMax, allocating, clock } = this.#options;
    const thread = new Thread({ options, bodyLimitBytes, objectBytesMax, allocating }, clock, {
      free: () => this.#next(),
      ended: () => {
        this.#threads.delete(thread);
        this.#next();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

/** One thread and the job it has. */
class Thread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #on: { free(): void; ended(): void };
  #running: Waiting | undefined;
  #isEnding = false;
  #failure: Error | undefined;
  #cancelIdle: () => void = () => undefined;

  constructor(start: ThreadStart, clock: Clock, on: { free(): void; ended(): void }) {
    this.#clock = clock;
    this.#on = on;
    // In the source tree this file and the thread's end in .ts, in the package in .js.
    const extension = extname(import.meta.url);
    this.#worker = new Worker(new URL(`./large-requests/thread${extension}`, import.meta.url), {
      workerData: start,
      // Not the flags of this process.
      execArgv: extension === ".ts" ? ["--conditions=source"] : [],
      name: "binnacle-large-request",
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 32 },
    });
    this.#worker.on("message", (message: FromThread) => this.#take(message));
    this.#worker.on("error", (error: Error) => {
      this.#failure = error;
    });
    this.#worker.on("exit", () => this.#exited());
    this.#worker.unref();
  }

  get running(): Waiting | undefined {
    return this.#running;
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#isEnding;
  }

  begin(waiting: Waiting): void {
    this.#cancelIdle();
    this.#running = waiting;
    this.#worker.ref();
    this.#post({ type: "job", job: waiting.job() });
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#cancelIdle();
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #take(message: FromThread): void {
    const running = this.#running;
    if (running === undefined) return;
    if (message.type === "question") {
      const { id, question } = message;
      running.answer(question).then(
        (answer) => this.#post({ type: "answer", id, answer }),
        (error: unknown) => this.#post({ type: "failed", id, failure: failureOf(error) }),
      );
      return;
    }
    this.#running = undefined;
    this.#worker.unref();
    this.#cancelIdle = this.#clock.after(idleMs, () => void this.end());
    running.warn?.(message.warnings);
    running.settle(message.type === "reply" ? message : { error: errorOf(message.failure) });
    this.#on.free();
  }

  #exited(): void {
    this.#isEnding = true;
    this.#cancelIdle();
    const running = this.#running;
    this.#running = undefined;
    running?.settle({
      error: isOutOfMemory(this.#failure) ? outgrown() : (this.#failure ?? new Error("a thread ended")),
    });
    this.#on.ended();
  }
}

const isOutOfMemory = (error: Error | undefined): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";

const outgrown = (): Error =>
  requestTooLarge(`it needs more than the ${heapMbMax} MB of memory that one request may have`);

/** One request with what its thread asks about it. */
class Exchange implements Omit<Waiting, "user" | "settle"> {
  readonly #scope: Scope;
  readonly #body: Buffer;
  readonly #options: LargeRequestOptions;
  readonly #definitionName: string;
  #definition: Entry | undefined;
  #held: Allocated | undefined;

  constructor(scope: Scope, body: Buffer, options: LargeRequestOptions) {
    this.#scope = scope;
    this.#body = body;
    this.#options = options;
    const { group, resource } = scope.definition;
    this.#definitionName = `${resource}.${group}`;
  }

  job(): SentRequest {
    const { request, store, namespace, name, definition } = this.#scope;
    const { backend, clock } = this.#options;
    const { method, url, path, info, user, auditId, receivedMs, deadlineMs } = request;
    const headers: Record<string, string> = {};
    for (const key of sentHeaders) {
      const value = request.headers[key];
      if (value !== undefined) headers[key] = value;
    }
    const entry = name === "" ? undefined : store.peek(namespace, name);
    let custom: SentRequest["definition"];
    if (definition.origin === "custom") {
      this.#definition = this.#options.definitionOf(this.#definitionName);
      custom = { name: this.#definitionName, revision: this.#definition?.revision ?? 0 };
    }
    return {
      type: "request",
      method,
      url,
      path,
      headers,
      info,
      user: { name: user.name, groups: [...user.groups] },
      auditId,
      isAudited: request.audit !== undefined,
      receivedMs,
      deadlineMs,
      nowMs: clock.now(),
      body: this.#body,
      entry: entry === undefined ? undefined : sentEntry(entry),
      revision: backend.revision,
      definition: custom,
    };
  }

  warn(texts: readonly string[]): void {
    for (const text of texts) this.#scope.context.warn(text);
  }

  async answer({ name, ask }: Question): Promise<Questions[keyof Questions]["answer"]> {
    const { request, parts } = this.#scope;
    switch (name) {
      case "definition":
        return this.#definition?.value ?? Promise.reject(new Error(`${this.#definitionName} is gone`));
      case "write":
        return this.#write(ask);
      case "admit":
        return this.#admit(this.#attributes(ask));
      case "validate":
        await parts.admission.validate(this.#attributes(ask));
        return undefined;
      case "allocate":
        return this.#allocate(ask);
      case "authorize":
        return parts.authorizer.authorize({ ...ask, user: request.user });
      case "sent":
        if (ask === undefined) request.audit?.sentPatch(this.#body);
        else request.audit?.sent(parsed(ask));
        return undefined;
    }
  }

  async #write({
    key,
    expected,
    object,
    ttlSeconds,
    removes,
  }: Questions["write"]["ask"]): Promise<Questions["write"]["answer"]> {
    const { backend } = this.#options;
    const { strategy } = this.#scope.definition;
    const encode = (revision: Revision) => encodedElsewhere(withRevision(object, revision), object.labels);
    const result = await (removes
      ? backend.remove(key, expected, encode)
      : backend.put(key, expected, encode, ttlSeconds === 0 ? undefined : ttlSeconds));
    if (!result.ok) {
      return { ok: false, current: result.current === undefined ? undefined : sentEntry(result.current) };
    }
    const { revision, created, expiresAt } = result.entry;
    await strategy.settled?.(revision);
    return { ok: true, revision, created, expiresAt };
  }

  async #allocate({ object, old, subresource, dryRun }: Questions["allocate"]["ask"]): Promise<Uint8Array> {
    const { definition, context } = this.#scope;
    const { allocate } = definition.strategy;
    if (allocate === undefined) throw new Error(`${definition.resource} are given nothing`);
    this.#held?.release();
    this.#held = await allocate(parsed(object), old && parsed(old), { context, subresource, dryRun });
    return Buffer.from(JSON.stringify(this.#held.object));
  }

  /** The job has ended. */
  end(): void {
    this.#held?.release();
  }

  async #admit(attributes: AdmissionAttributes): Promise<Uint8Array | undefined> {
    const changed = await this.#scope.parts.admission.admit(attributes);
    return changed === undefined ? undefined : Buffer.from(JSON.stringify(changed));
  }

  #attributes({ object, oldObject, ...attributes }: SentAttributes): AdmissionAttributes {
    return new SentAdmission(this.#scope, attributes, object, oldObject);
  }
}

/** Objects are read when a plugin looks at them, which few do. */
class SentAdmission implements AdmissionAttributes {
  readonly context: AdmissionAttributes["context"];
  readonly operation: AdmissionAttributes["operation"];
  readonly resource: AdmissionAttributes["resource"];
  readonly kind: AdmissionAttributes["kind"];
  readonly namespace: string;
  readonly name: string;
  readonly pathName: string;
  readonly subresource: string;
  readonly dryRun: boolean;
  readonly options = undefined;
  #json: { object: Uint8Array | undefined; oldObject: Uint8Array | undefined };
  #object: ApiObject | undefined;
  #oldObject: ApiObject | undefined;

  constructor(
    { context }: Scope,
    sent: Omit<SentAttributes, "object" | "oldObject">,
    object: Uint8Array | undefined,
    oldObject: Uint8Array | undefined,
  ) {
    this.context = context;
    this.operation = sent.operation;
    this.resource = sent.resource;
    this.kind = sent.kind;
    this.namespace = sent.namespace;
    this.name = sent.name;
    this.pathName = sent.pathName;
    this.subresource = sent.subresource;
    this.dryRun = sent.dryRun;
    this.#json = { object, oldObject };
  }

  get object(): ApiObject | undefined {
    this.#object ??= this.#json.object && parsed(this.#json.object);
    return this.#object;
  }

  get oldObject(): ApiObject | undefined {
    this.#oldObject ??= this.#json.oldObject && parsed(this.#json.oldObject);
    return this.#oldObject;
  }
}

const parsed = (json: Uint8Array): ApiObject => parseObject(bufferOf(json).toString());

/** Headers that handlers read. */
const sentHeaders = ["accept", "content-type", "user-agent"];

const sentEntry = ({ key, value, revision, created, expiresAt }: Entry): SentEntry => ({
  key,
  value,
  revision,
  created,
  expiresAt,
});
