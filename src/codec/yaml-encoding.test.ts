/** Tests YAML as an encoding. */
import { encodingContract } from "./encoding.contract.ts";
import { yamlEncoding } from "./yaml-encoding.ts";

encodingContract({ name: "YAML", encoding: yamlEncoding });
