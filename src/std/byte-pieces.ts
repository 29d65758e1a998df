/** Long bodies, produced in pieces while the peer reads. */

/** Bytes produced piece by piece, so that a large list is never in memory twice. */
export interface BytePieces extends Iterable<Buffer> {
  /** Sum of all pieces, known before the first is made. */
  readonly length: number;
  /** The same bytes in repeatable chunks, for a writer that caches its output for them. */
  readonly chunks?: () => Iterable<Chunk>;
}

/** A part of a body. */
export interface Chunk {
  /**
   * An object that lives as long as the chunk may be repeated, such as its first entry. With `mark`, which
   * distinguishes chunks with the same beginning, it identifies the bytes. `undefined`: not worth caching.
   */
  readonly key: object | undefined;
  readonly mark: readonly number[];
  bytes(): Buffer;
}

/** Bytes that take time to produce; the length is known at the end. Iterated once. */
export interface Chunks extends AsyncIterable<Buffer> {
  /** Sum of the pieces made so far. */
  readonly length: number;
}

/** A body in one of these forms. */
export type LongBody = { readonly pieces: BytePieces } | { readonly chunks: Chunks };
