/**
 * The envelope of every object in protobuf: four magic bytes, its type, and the object. Source: upstream's
 * `serializer/protobuf`.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { ProtobufReader } from "./protobuf-reader.ts";
import type { ProtobufWriter } from "./protobuf-writer.ts";

const magic = Buffer.from("k8s\0");

/** The number of bytes before the first field. */
export const magicLength = magic.length;

interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** Reads the object; empty if the envelope has none. */
  readonly raw: ProtobufReader;
}

/** Reads an envelope. Throws `DecodeError` for bytes without an envelope. */
export function readEnvelope(bytes: Uint8Array): Envelope {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length === 0) throw new DecodeError("empty data");
  if (all.length < magic.length || !all.subarray(0, magic.length).equals(magic)) {
    throw new DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  if (all.length === magic.length) throw new DecodeError("empty body");
  let apiVersion = "";
  let kind = "";
  let raw = new ProtobufReader(all, 0, 0);
  const reader = new ProtobufReader(all, magic.length, all.length);
  reader.name = "Unknown";
  while (reader.next()) {
    if (reader.number === 1) {
      const inner = reader.message("TypeMeta");
      inner.name = "TypeMeta";
      while (inner.next()) {
        if (inner.number === 1) apiVersion = inner.text("APIVersion");
        else if (inner.number === 2) kind = inner.text("Kind");
        else inner.skip();
      }
    } else if (reader.number === 2) raw = reader.message("Raw");
    else if (reader.number === 3) reader.text("ContentEncoding");
    else if (reader.number === 4) reader.text("ContentType");
    else reader.skip();
  }
  return { apiVersion, kind, raw };
}

/** Writes an object with `write`, and its envelope around it. */
export function writeEnvelope(writer: ProtobufWriter, apiVersion: string, kind: string, write: () => void): void {
  writer.bytes(envelopeTail);
  const end = writer.length;
  write();
  writeEnvelopeHead(writer, apiVersion, kind, writer.length - end);
}

/** The end of an envelope: content encoding and content type are empty, since the object is not encoded any further. */
export const envelopeTail = Buffer.from([0x1a, 0, 0x22, 0]);

/** Writes the beginning of an envelope, up to the object, whose length is given. */
export function writeEnvelopeHead(writer: ProtobufWriter, apiVersion: string, kind: string, length: number): void {
  writer.head(2, length);
  writer.message(1, () => {
    writer.text(2, kind);
    writer.text(1, apiVersion);
  });
  writer.bytes(magic);
}
