/** The controllers of bootstrap tokens: they sign the ConfigMap `cluster-info`, and expired ones are deleted. */
import { tokenCleanerController } from "./bootstrap-tokens/cleaner.ts";
import { bootstrapSignerController } from "./bootstrap-tokens/signer.ts";

export const bootstrapTokenControllers = {
  signer: bootstrapSignerController,
  cleaner: tokenCleanerController,
};
