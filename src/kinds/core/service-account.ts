/** ServiceAccount: an identity for programs. Controllers create its tokens and the default account of a namespace. */
import type { ServiceAccount } from "#api/core/v1.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editItems } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function serviceAccounts({ domain }: KindEnvironment): KindBehaviour<ServiceAccount> {
  const enforce = domain.rename("kubernetes.io/enforce-mountable-secrets");
  const warning = `metadata.annotations[${enforce}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  const isMarked = ({ metadata }: ServiceAccount): boolean => metadata.annotations?.[enforce] !== undefined;
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Secrets", "Number of secrets the account may use.", ({ secrets = [] }) => secrets.length),
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

/** Returns the account with only the names of its secrets, since all are in its namespace. */
function withNamesOnly(object: ServiceAccount): ServiceAccount {
  return editItems(object, "secrets", (secret) => {
    if (Object.keys(secret).every((field) => field === "name")) return secret;
    return secret.name ? { name: secret.name } : {};
  });
}
