/**
 * The form of values in etcd: the JSON of the object in its storage version with an empty `resourceVersion`, which
 * kube-apiserver reads as well. The place of the digits is found anew in what is read.
 *
 *     {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a",…,"resourceVersion":"",…
 *                                                                  the digits belong here
 */
import { UnreadableValue, type ValueForm } from "../log-store.ts";

/** Reads a value that another program wrote in a form of its own; returns the JSON, or throws with the reason. */
export type ReadForeign = (key: string, bytes: Buffer) => Buffer;

const emptyVersion = Buffer.from('"resourceVersion":""');
const newline = 0x0a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** The beginning of a member that is an object, and the name of the one that has the version. */
const objectMember = Buffer.from('":{');
const metadata = Buffer.from('"metadata');
/** The first bytes of values in protobuf. */
const protobufMagic = Buffer.from("k8s\0");

/** `nameOf` returns the name to which an encrypted value is bound. */
export const jsonForm = (nameOf: (key: string) => string, readForeign: ReadForeign): ValueForm => ({
  pack: ({ bytes }) => bytes,
  unpack(bytes, key) {
    const revisionOffset = placeIn(bytes);
    // Our objects end with a newline.
    if ((revisionOffset >= 0 && bytes.at(-1) === newline) || !isObject(bytes)) return { bytes, revisionOffset };
    try {
      const own = readForeign(key, bytes);
      return { bytes: own, revisionOffset: placeIn(own) };
    } catch (error) {
      throw new UnreadableValue(error instanceof Error ? error.message : String(error), { cause: error });
    }
  },
  nameOf: (key) => Buffer.from(nameOf(key)),
});

/**
 * Returns the offset of the digits in an object of ours; -1 for an object of another program, a setting or an encrypted
 * value. In ours the version stands in `metadata`, the first member that is an object, and only names and identifiers
 * come before it. Labels or a spec of another program may have a member with this name, too.
 */
function placeIn(bytes: Buffer): number {
  const at = bytes[0] === openBrace ? bytes.indexOf(emptyVersion) : -1;
  if (at < 0) return -1;
  const first = bytes.indexOf(objectMember);
  if (first >= 0 && first < at) {
    const next = bytes.indexOf(objectMember, first + 1);
    const end = bytes.indexOf(closeBrace, first);
    const isMetadata = bytes.subarray(first - metadata.length, first).equals(metadata);
    if (!isMetadata || (next >= 0 && next < at) || end < at) return -1;
  }
  return at + emptyVersion.length - 1;
}

/** Whether bytes are an object, in JSON or in protobuf. */
const isObject = (bytes: Buffer): boolean =>
  bytes[0] === openBrace || bytes.subarray(0, protobufMagic.length).equals(protobufMagic);
