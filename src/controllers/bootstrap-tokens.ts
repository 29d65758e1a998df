/** The controllers of bootstrap tokens: one signs the ConfigMap `cluster-info`, the other deletes expired tokens. */
import { tokenCleanerController } from "./bootstrap-tokens/cleaner.ts";
import { bootstrapSignerController } from "./bootstrap-tokens/signer.ts";

export const bootstrapTokenControllers = {
  signer: bootstrapSignerController,
  cleaner: tokenCleanerController,
};
