/** Tests JSON as an encoding, plain and indented. */
import { encodingContract } from "./encoding.contract.ts";
import { jsonEncoding } from "./json-encoding.ts";

encodingContract({ name: "JSON", encoding: jsonEncoding });
encodingContract({ name: "indented JSON", encoding: jsonEncoding.indented! });
