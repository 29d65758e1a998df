/** ServiceAccount: an identity for programs. Its tokens and the default account of a namespace are controllers'. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editItems, listField, textField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function serviceAccounts({ domain }: KindEnvironment): KindBehaviour {
  const enforce = domain.rename("kubernetes.io/enforce-mountable-secrets");
  const warning = `metadata.annotations[${enforce}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  const isMarked = (object: Unstructured): boolean => object.metadata.annotations?.[enforce] !== undefined;
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Secrets", "Number of secrets the account may use.", (object) => listField(object, "secrets").length),
      ageColumn,
    ],
    strategy: {
      prepareForCreate: withNamesOnly,
      prepareForUpdate: withNamesOnly,
      warningsOnCreate: (object) => (isMarked(object) ? [warning] : []),
      warningsOnUpdate: (object, old) => (isMarked(object) && !isMarked(old) ? [warning] : []),
    },
  };
}

/** Secrets lie in the account's namespace: of what is said about one, only the name is kept. */
function withNamesOnly(object: Unstructured): Unstructured {
  return editItems(object, "secrets", (secret) => {
    const name = textField(secret, "name");
    return Object.keys(secret).some((field) => field !== "name") ? (name === "" ? {} : { name }) : secret;
  });
}
