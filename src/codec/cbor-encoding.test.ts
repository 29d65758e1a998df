/** Tests CBOR as an encoding. */
import { CborHeads, skipItem } from "./cbor-items.ts";
import { readCborObject } from "./cbor-reader.ts";
import { cborEncoding } from "./cbor-encoding.ts";
import { encodingContract } from "./encoding.contract.ts";

/** Returns the items of a sequence. */
function itemsOf(bytes: Buffer): unknown[] {
  const items: unknown[] = [];
  for (let at = 0; at < bytes.length; ) {
    const rest = bytes.subarray(at);
    const end = skipItem(new CborHeads(rest));
    items.push(JSON.parse(JSON.stringify(readCborObject(rest.subarray(0, end)))));
    at += end;
  }
  return items;
}

encodingContract({ name: "CBOR", encoding: cborEncoding(), framesOf: itemsOf });
