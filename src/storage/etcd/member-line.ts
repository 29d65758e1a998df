/**
 * Members of etcd in an order, of which one is used until its connection ends; then the next one is tried. Between tries
 * there are pauses, which grow and are partly random.
 */
import { type Clock, pause } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { EtcdError } from "./client.ts";

const backOffMinMs = 50;
const backOffMaxMs = 2000;

/** A connection to a member. */
interface LineConnection {
  /** Whether it takes calls. */
  readonly isOpen: boolean;
  close(): void;
}

interface LineOptions<C extends LineConnection> {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Opens a connection; rejects with an `EtcdError`. `ended` is called once, when the connection takes no new calls any
   * more.
   */
  open(endpoint: string, ended: (error: EtcdError) => void): Promise<C>;
  /** Rejects with an `EtcdError` when the member of a new connection must not be used. */
  probe(connection: C): Promise<void>;
}

export class MemberLine<C extends LineConnection> {
  readonly #endpoints: readonly string[];
  readonly #options: LineOptions<C>;
  readonly #closing = new AbortController();
  #at = 0;
  #connection: C | undefined;
  #connecting: Promise<C> | undefined;
  /** The connection that is being tried. */
  #tried: C | undefined;
  #connectedMs = 0;
  /** The number of connections in a row that failed or ended soon. */
  #failures = 0;
  /** The error of the last connection. */
  #problem: EtcdError | undefined;

  constructor(endpoints: readonly string[], options: LineOptions<C>) {
    this.#endpoints = endpoints;
    this.#options = options;
  }

  /** The address of the member in use, or of that which is tried. */
  get endpoint(): string {
    return this.#endpoints[this.#at]!;
  }

  /** The connection in use. */
  get connection(): C | undefined {
    return this.#connection;
  }

  /** Resolves with a connection, and rejects when there is none in time. */
  ready(timeoutMs: number): Promise<C> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    if (this.#connection !== undefined) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect();
    const connecting = this.#connecting;
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => reject(this.#unready(timeoutMs)));
      connecting.then(resolve, reject).finally(cancel);
    });
  }

  close(): void {
    this.#closing.abort();
    this.#connection?.close();
    this.#tried?.close();
  }

  /** Tries the members one after the other until one can be used. Rejects when the client is closed. */
  async #connect(): Promise<C> {
    const { signal } = this.#closing;
    for (;;) {
      if (this.#failures > 0) await pause(this.#options.clock, this.#backOffMs(), signal);
      if (signal.aborted) throw closed();
      const connection = await this.#try();
      if (signal.aborted) connection?.close();
      else if (connection !== undefined) return connection;
    }
  }

  async #try(): Promise<C | undefined> {
    let connection: C | undefined;
    try {
      connection = await this.#options.open(this.endpoint, (error) => this.#lost(connection, error));
      this.#tried = connection;
      await this.#options.probe(connection);
      if (!connection.isOpen) throw new EtcdError("unsent", `etcd at ${this.endpoint}: the connection was closed`);
    } catch (error) {
      connection?.close();
      this.#next(error as EtcdError); // both reject with nothing else
      return undefined;
    } finally {
      this.#tried = undefined;
    }
    this.#connection = connection;
    this.#connecting = undefined;
    this.#connectedMs = this.#options.clock.monotonic();
    return connection;
  }

  #lost(connection: C | undefined, error: EtcdError): void {
    // The end of a connection that is still being tried is an error of its first call.
    if (connection === undefined || connection !== this.#connection) return;
    this.#connection = undefined;
    if (this.#options.clock.monotonic() - this.#connectedMs > backOffMaxMs) this.#failures = 0;
    this.#next(error);
  }

  #next(error: EtcdError): void {
    this.#problem = error;
    this.#failures++;
    this.#at = (this.#at + 1) % this.#endpoints.length;
  }

  #backOffMs(): number {
    const ms = Math.min(backOffMaxMs, backOffMinMs * 2 ** (this.#failures - 1));
    return ms * (0.5 + this.#options.random.next() / 2);
  }

  #unready(timeoutMs: number): EtcdError {
    const problem = this.#problem;
    const kind = problem?.kind === "unauthorized" || problem?.kind === "replaced" ? problem.kind : "unsent";
    const reason = problem?.message ?? `etcd at ${this.endpoint}: no connection`;
    return new EtcdError(kind, `no member of etcd could be used in ${timeoutMs / 1000} s: ${reason}`);
  }
}

const closed = (): EtcdError => new EtcdError("unsent", "the client of etcd is closed");
