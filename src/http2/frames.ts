/**
 * The numbers of HTTP/2: types and flags of frames, settings, error codes.
 *
 * Source: RFC 9113.
 */

export const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const settings = { tableSize: 1, push: 2, streamsMax: 3, window: 4, frameSize: 5, headerBytes: 6 } as const;

export const errorCodes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;

/** The bytes before the payload of a frame. */
export const headLength = 9;
/** The bytes of a window that nobody has widened, and of the widest. */
export const defaultWindow = 65_535;
export const windowMax = 2 ** 31 - 1;
/** The bytes of the longest payload that a peer may send, and those that it takes if it does not say more. */
export const frameBytesMax = 16_384;
export const streamIdMax = 2 ** 31 - 1;

/** Returns the number of a type and its flags together. */
export const kindOf = (type: number, flag: number): number => (type << 8) | flag;

/** Writes the head of a frame. `kind` is that of `kindOf`. */
export function writeHead(out: Buffer, at: number, length: number, kind: number, id: number): void {
  out[at] = length >> 16;
  out[at + 1] = length >> 8;
  out[at + 2] = length;
  out[at + 3] = kind >> 8;
  out[at + 4] = kind;
  out[at + 5] = id >> 24;
  out[at + 6] = id >> 16;
  out[at + 7] = id >> 8;
  out[at + 8] = id;
}

/** Returns a payload of settings. */
export function settingsOf(...values: readonly (readonly [name: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * values.length);
  for (const [at, [name, value]] of values.entries()) {
    payload.writeUInt16BE(name, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  }
  return payload;
}

/** Returns a payload of one number. */
export function numberOf(value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return payload;
}
