/** Frames as peers of tests write them. */
import { headLength, kindOf, writeHead } from "./frames.ts";

/** Returns a frame. */
export function frameOf(type: number, flag: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(headLength);
  writeHead(head, 0, payload.length, kindOf(type, flag), id);
  return Buffer.concat([head, payload]);
}
