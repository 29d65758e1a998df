/** A finding of the checks that `tidy.ts` runs over the sources, and the sources. */

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The texts of files by their repository paths with forward slashes. */
export type Sources = ReadonlyMap<string, string>;
