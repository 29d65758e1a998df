/** Frames as peers of tests write and read them. */
import { headLength, kindOf, preface, writeHead } from "./frames.ts";

export interface PeerFrame {
  readonly type: number;
  readonly flag: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** Returns a frame. */
export function frameOf(type: number, flag: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(headLength);
  writeHead(head, 0, payload.length, kindOf(type, flag), id);
  return Buffer.concat([head, payload]);
}

/** Divides what comes into frames. */
export class PeerFrames {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the frames that are complete with these bytes. The preface of a client is no frame. */
  take(bytes: Buffer): PeerFrame[] {
    const frames: PeerFrame[] = [];
    let rest = Buffer.concat([this.#rest, bytes]);
    if (rest.toString("latin1", 0, preface.length) === preface) rest = rest.subarray(preface.length);
    while (rest.length >= headLength && rest.length >= headLength + rest.readUIntBE(0, 3)) {
      const end = headLength + rest.readUIntBE(0, 3);
      frames.push({
        type: rest[3]!,
        flag: rest[4]!,
        id: rest.readUInt32BE(5),
        payload: rest.subarray(headLength, end),
      });
      rest = rest.subarray(end);
    }
    this.#rest = rest;
    return frames;
  }
}
