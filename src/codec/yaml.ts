/** placeholder */
import { DecodeError } from "#schema/decode-error.ts";
export function decodeYaml(_bytes: Uint8Array): { value: unknown; duplicates: readonly string[] } {
  throw new DecodeError("not yet");
}
export function encodeYaml(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
