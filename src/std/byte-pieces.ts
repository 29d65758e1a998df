/** Bodies that are long: their bytes come one after the other, while the peer reads. */

/** Bytes made piece by piece, so that a large list is never in memory twice. */
export interface Pieces extends Iterable<Buffer> {
  /** Sum of all pieces, known before the first is made. */
  readonly length: number;
  /** The same bytes in chunks that may come again, for a writer that keeps what it made of them. */
  readonly chunks?: () => Iterable<Chunk>;
}

/** A stretch of a body. */
export interface Chunk {
  /**
   * What lives as long as the chunk may come again, such as its first entry; together with `mark`, which tells chunks that
   * begin alike apart, it stands for the bytes. `undefined`: not worth keeping.
   */
  readonly key: object | undefined;
  readonly mark: readonly number[];
  bytes(): Buffer;
}

/** Bytes that take time to be made; how many is known at the end. Iterated once. */
export interface Chunks extends AsyncIterable<Buffer> {
  /** Sum of the pieces made so far. */
  readonly length: number;
}

/** A body in one of these forms. */
export type LongBody = { readonly pieces: Pieces } | { readonly chunks: Chunks };
