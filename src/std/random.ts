/** Randomness as a parameter, with the two identifiers that the API makes from it. */
import { randomBytes, randomUUID } from "node:crypto";

export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns `count` random bytes. */
  bytes(count: number): Buffer;
  /** Returns an RFC 4122 version 4 UUID. */
  uuid(): string;
}

/** The cryptographically strong randomness of the machine (except `next`). */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (count) => randomBytes(count),
  uuid: () => inOnePiece(randomUUID()),
};

const uuidSpace = Buffer.alloc("00000000-0000-4000-8000-000000000000".length);

/**
 * Returns a flat copy: Node builds UUIDs as ropes of short texts, which take eight times the memory for as long as they
 * are referenced.
 */
function inOnePiece(uuid: string): string {
  uuidSpace.write(uuid, "latin1");
  return uuidSpace.toString("latin1");
}

/** Returns a reproducible generator (mulberry32) for tests and fuzz runs. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => Math.floor(next() * 256)));
  const uuid = (): string => {
    const raw = bytes(16);
    raw[6] = (raw[6]! & 0x0f) | 0x40;
    raw[8] = (raw[8]! & 0x3f) | 0x80;
    const hex = raw.toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
  return { next, bytes, uuid };
}

/** Upstream's alphabet of generated names: no vowels and no similar characters, so that no words occur. */
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/**
 * Returns `length` random characters that may end an object name. They need not be unpredictable. Source: upstream's
 * `util/rand`.
 */
export function nameSuffix(random: Random, length: number): string {
  let text = "";
  for (let i = 0; i < length; i++) text += nameAlphabet[Math.floor(random.next() * nameAlphabet.length)]!;
  return text;
}
