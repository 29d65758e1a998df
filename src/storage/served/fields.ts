/** Fields of frames: each is written and read by the same declaration, so that both sides agree. */
import { DamagedFrame, FieldReader, FrameWriter } from "./frame-bytes.ts";

export interface FrameField<T> {
  write(to: FrameWriter, value: T): void;
  /** Throws `DamagedFrame`. */
  read(from: FieldReader): T;
}

export type TypeOf<F> = F extends FrameField<infer T> ? T : never;

export const text: FrameField<string> = { write: (to, value) => to.text(value), read: (from) => from.text() };

export const boolean: FrameField<boolean> = {
  write: (to, value) => to.byte(value ? 1 : 0),
  read: (from) => from.byte() === 1,
};

/** A finite number. */
export const number: FrameField<number> = {
  write: (to, value) => to.double(value),
  read(from) {
    const value = from.double();
    if (!Number.isFinite(value)) throw new DamagedFrame("a number is not finite");
    return value;
  },
};

/** An integer from 0 on: a revision, a count. */
export const natural: FrameField<number> = {
  write: (to, value) => to.double(value),
  read(from) {
    const value = from.double();
    if (!Number.isSafeInteger(value) || value < 0) throw new DamagedFrame(`${value} is neither a revision nor a count`);
    return value;
  },
};

/** The bytes up to the end of the frame. */
export const rest: FrameField<Buffer> = { write: (to, value) => to.rest(value), read: (from) => from.rest() };

export function optional<T>(field: FrameField<T>): FrameField<T | undefined> {
  return {
    write(to, value) {
      to.byte(value === undefined ? 0 : 1);
      if (value !== undefined) field.write(to, value);
    },
    read: (from) => (from.byte() === 0 ? undefined : field.read(from)),
  };
}

export function list<T>(field: FrameField<T>): FrameField<readonly T[]> {
  return {
    write(to, values) {
      to.uint32(values.length);
      for (const value of values) field.write(to, value);
    },
    read(from) {
      const values: T[] = [];
      // Each item has a byte at least, so that a false count ends with the frame.
      for (let left = from.uint32(); left > 0; left--) values.push(field.read(from));
      return values;
    },
  };
}

type Fields<T> = { readonly [K in keyof Required<T>]: FrameField<K extends keyof T ? T[K] : never> };

/** An object with these fields. Reading leaves out those that are `undefined`. */
export function record<T extends object>(fields: Fields<T>): FrameField<T> {
  const entries = Object.entries(fields) as [keyof T, FrameField<T[keyof T]>][]; // the type has no other names
  return {
    write(to, value) {
      for (const [name, field] of entries) field.write(to, value[name]);
    },
    read(from) {
      const read: Partial<T> = {};
      for (const [name, field] of entries) {
        const value = field.read(from);
        if (value !== undefined) read[name] = value;
      }
      return read as T; // all names were read
    },
  };
}

/** One of some words. */
export function word<W extends string>(words: readonly W[]): FrameField<W> {
  return {
    write: (to, value) => to.byte(words.indexOf(value)),
    read(from) {
      const value = words[from.byte()];
      if (value === undefined) throw new DamagedFrame("a word is none of those that are possible");
      return value;
    },
  };
}

/** An object of one of these kinds, with the kind. */
type OneOf<M> = { [N in keyof M]: { readonly kind: N } & M[N] }[keyof M];

/** A value of one of some kinds, which its `kind` names. */
export function oneOf<M extends object>(kinds: { readonly [N in keyof M]: FrameField<M[N]> }): FrameField<OneOf<M>> {
  const names = Object.keys(kinds) as (keyof M)[]; // the type has no other names
  const codes = new Map(names.map((name, code) => [name, code]));
  return {
    write(to, value) {
      to.byte(codes.get(value.kind)!);
      kinds[value.kind].write(to, value);
    },
    read(from) {
      const code = from.byte();
      const kind = names[code];
      if (kind === undefined) throw new DamagedFrame(`there is no kind ${code}`);
      return { ...kinds[kind].read(from), kind };
    },
  };
}

/** Returns a frame with a value. `bytes` is about the length that is needed. */
export function frameOf<T>(field: FrameField<T>, value: T, bytes = 256): Buffer {
  const writer = new FrameWriter(bytes);
  field.write(writer, value);
  return writer.take();
}

/** Returns the bytes of a value, to be a part of a frame. */
export function bytesOf<T>(field: FrameField<T>, value: T): Buffer {
  const writer = new FrameWriter(1024);
  field.write(writer, value);
  return writer.takeFields();
}

/** Reads a value of which the bytes have nothing else. Throws `DamagedFrame`. */
export function readAll<T>(field: FrameField<T>, bytes: Buffer): T {
  const reader = new FieldReader(bytes);
  const value = field.read(reader);
  reader.end();
  return value;
}
