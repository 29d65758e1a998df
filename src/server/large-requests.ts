/**
 * Runs large requests in a few threads (`large-requests/thread.ts`). Each thread has one request at a time, limited in
 * time (the request's deadline) and memory. Exceeding a limit ends the thread and only its request. Users take turns.
 * `large-requests/worker-host.ts` answers the calls of a thread.
 */
import type { Encoding } from "#codec/encoding.ts";
import { JsonContent } from "#http/object-reply.ts";
import type { HandledRequest, Reply } from "#http/api-request.ts";
import type { LargeRequests, Scope } from "#http/scope.ts";
import { type WorkerHostOptions, WorkerHost } from "./large-requests/worker-host.ts";
import type { SentReply, ThreadStart } from "./large-requests/messages.ts";
import { bufferOf } from "./large-requests/worker-cache.ts";
import { type PendingJob, WorkerThread } from "./large-requests/worker-thread.ts";

interface LargeRequestOptions extends ThreadStart, WorkerHostOptions {}

/** The maximum number of threads. A user has one at a time, so that other users find a free one. */
const threadsMax = 2;

export class LargeRequestThreads implements LargeRequests {
  readonly #options: LargeRequestOptions;
  /** Jobs in the order of arrival. */
  readonly #waiting = new Set<PendingJob>();
  readonly #threads = new Set<WorkerThread>();
  #closed = false;

  constructor(options: LargeRequestOptions) {
    this.#options = options;
  }

  async handle(scope: Scope): Promise<Reply> {
    const { request } = scope;
    const body = await request.body(scope.parts.bodyLimitBytes);
    // A request in a thread, or waiting for one, does not use the event loop.
    request.seats?.end();
    // The thread gets the object from the cache, which other servers may be ahead of.
    await this.#options.cache.fresh();
    const host = new WorkerHost(scope, body, this.#options);
    const running = this.#run(request.user.name, request.signal, host).finally(() => void host.end());
    const { headers, bytes, json, ...reply } = await running;
    return {
      ...reply,
      ...(headers === undefined ? {} : { headers }),
      bytes: bufferOf(bytes),
      ...(json === undefined ? {} : { object: new JsonContent(bufferOf(json)) }),
    } as Reply; // absent as undefined
  }

  async encode({ mediaType }: Encoding, value: unknown, { user, signal }: HandledRequest): Promise<Buffer> {
    const json = Buffer.from(JSON.stringify(value));
    const { bytes } = await this.#run(user.name, signal, {
      message: () => ({ type: "value", json, mediaType }),
      answer: () => Promise.reject(new Error("nothing is asked for a value")),
    });
    return bufferOf(bytes);
  }

  /** Rejects all jobs and ends all threads. */
  async close(): Promise<void> {
    this.#closed = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { finish } of waiting) finish({ error: new Error("the server is closed") });
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #run(user: string, signal: AbortSignal, job: Omit<PendingJob, "user" | "finish">): Promise<SentReply> {
    if (this.#closed) return Promise.reject(new Error("the server is closed"));
    return new Promise((resolve, reject) => {
      const waiting: PendingJob = {
        user,
        message: () => job.message(),
        answer: (call) => job.answer(call),
        warn: (texts) => job.warn?.(texts),
        finish(end) {
          signal.removeEventListener("abort", giveUp);
          if ("reply" in end) resolve(end.reply);
          else reject(end.error);
        },
      };
      const giveUp = (): void => {
        const reason: unknown = signal.reason;
        waiting.finish({ error: reason instanceof Error ? reason : new Error(String(reason)) });
        this.#forget(waiting);
      };
      if (signal.aborted) {
        giveUp();
        return;
      }
      signal.addEventListener("abort", giveUp);
      this.#waiting.add(waiting);
      this.#next();
    });
  }

  /** Removes a job whose caller has gone. */
  #forget(gone: PendingJob): void {
    this.#waiting.delete(gone);
    for (const thread of this.#threads) if (thread.running === gone) void thread.end();
  }

  #next(): void {
    while (this.#waiting.size > 0 && !this.#closed) {
      const idle = [...this.#threads].find(({ isIdle }) => isIdle);
      if (idle === undefined && this.#threads.size >= threadsMax) return;
      const next = this.#first();
      if (next === undefined) return;
      this.#waiting.delete(next);
      (idle ?? this.#open()).begin(next);
    }
  }

  /** Returns the first job of a user who has no running job. */
  #first(): PendingJob | undefined {
    const busy = new Set([...this.#threads].flatMap(({ running }) => (running === undefined ? [] : [running.user])));
    return this.#waiting.values().find(({ user }) => !busy.has(user));
  }

  #open(): WorkerThread {
    const { apiDomain, kindFlags, bodyLimitBytes, objectBytesMax, allocating, clock } = this.#options;
    const thread = new WorkerThread({ apiDomain, kindFlags, bodyLimitBytes, objectBytesMax, allocating }, clock, {
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
