/** Long bodies, produced in pieces while the peer reads. */

/** The length up to which a body is sent in one write, such as a page of a hundred objects; it is best made as one piece. */
export const wholeBytesMax = 256 * 1024;

/** The length in bytes of the writes that carry a longer body, and about that of the chunks that are kept for it. */
export const pieceLength = 128 * 1024;

/** Bytes produced piece by piece, so that a large list is never in memory twice. */
export interface BytePieces extends Iterable<Buffer> {
  /** The sum of the lengths of all pieces, known before the first piece is made. */
  readonly length: number;
  /** Yields the same bytes in repeatable chunks, for a writer that caches its output for them. */
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

/** Bytes that take time to produce; their length is known only at the end. Iterated once. */
export interface Chunks extends AsyncIterable<Buffer> {
  /** The sum of the lengths of the pieces made so far. */
  readonly length: number;
}

/** A body in one of these forms. */
export type LongBody = { readonly pieces: BytePieces } | { readonly chunks: Chunks };
