/**
 * A server knows its store by what it has heard of it, and so a member that holds another one: that of another cluster, or an
 * older state, also one that others have written to since, so that its revision is beyond the former one. It cannot know that
 * nothing but deletions is missing.
 */
import { printable } from "#std/printable.ts";
import { type AnswerHeader, EtcdError, type KnownVersion, type RangeAnswer, type RangeRequest } from "./client.ts";

/** Whether a member has the version that was heard of. */
const isSame = (found: KnownVersion | undefined, { revision, value }: KnownVersion): boolean =>
  found?.revision === revision && found.value.equals(value);

/** A key that nobody has. */
const noKey = "\0";

export class HeardStore {
  #cluster: string | undefined;
  #revision = 0;
  /** Returns the last version that was heard of, if any. */
  known: () => KnownVersion | undefined = () => undefined;
  /** Called when a member cannot say whether it had that version. */
  doubted: () => void = () => undefined;

  /** Notes a revision that a member mentioned. */
  hear(revision: number): void {
    if (revision > this.#revision) this.#revision = revision;
  }

  /**
   * Resolves when a member reads the present of the store that was heard of. Rejects with an `EtcdError`, which is
   * `replaced` for another store. `read` asks the member.
   */
  async check(endpoint: string, read: (request: RangeRequest) => Promise<RangeAnswer>): Promise<void> {
    const known = this.known();
    const before = Math.max(this.#revision, known?.revision ?? 0);
    const { header } = await read({ key: noKey, countOnly: true });
    this.#checkHeader(header, before, endpoint);
    if (known !== undefined) await this.#checkVersion(known, endpoint, read);
  }

  async #checkVersion(
    known: KnownVersion,
    endpoint: string,
    read: (request: RangeRequest) => Promise<RangeAnswer>,
  ): Promise<void> {
    const { key, revision } = known;
    let answer: RangeAnswer;
    try {
      answer = await read({ key, revision });
    } catch (error) {
      if (!(error instanceof EtcdError) || error.kind !== "compacted") throw error;
      // Nobody knows a history that is compacted, but the version may still be there.
      if (!isSame((await read({ key })).entries[0], known)) this.doubted();
      return;
    }
    if (isSame(answer.entries[0], known)) return;
    const text = `etcd at ${endpoint} has another history than before: ${printable(key)} had another value at revision ${revision}`;
    throw new EtcdError("replaced", text, endpoint);
  }

  /** `before` is the revision that had been heard of when the member was asked. */
  #checkHeader({ cluster, revision }: AnswerHeader, before: number, endpoint: string): void {
    const at = `etcd at ${endpoint}`;
    this.#cluster ??= cluster;
    if (cluster !== this.#cluster)
      throw new EtcdError("replaced", `${at} belongs to the cluster ${cluster}, and not to ${this.#cluster}`, endpoint);
    if (revision < before)
      throw new EtcdError("replaced", `${at} is at revision ${revision}, but there was revision ${before}`, endpoint);
    this.hear(revision);
  }
}
