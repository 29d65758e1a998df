/** Descriptions of what extends the API: admission, custom resources and API services. `../descriptions.ts` explains the format. */
export const extension = `
package io.k8s.api.admissionregistration.v1, io.k8s.api.admissionregistration.v1beta1, io.k8s.api.admissionregistration.v1alpha1
MatchCondition: A condition that a request must also meet.
  name: The name of the condition, unique in its list.
  expression: The condition in CEL, which must be true. It sees object, oldObject, request and authorizer.
MatchResources: The requests that a policy is for. Everything that is given must match.
  namespaceSelector: The labels that the namespace must have; all namespaces match when empty. Objects without a namespace always match.
  objectSelector: The labels that the new or the old object must have; all objects match when empty.
  resourceRules: The actions and resources that match; one of the rules must.
  excludeResourceRules: The actions and resources that do not match; they win over resourceRules.
  matchPolicy: The policy for other versions of the same resource: Equivalent (the default) converts and checks them, Exact leaves them out.
NamedRuleWithOperations: Actions on resources, or on single objects of them.
  resourceNames: The names of single objects; all objects match when empty.
ParamKind:
  apiVersion: The group and version of the kind.
  kind: The kind itself, such as ConfigMap.
ParamRef: The objects that hold parameters. Either a name or a selector is given.
  name: The name of one object.
  namespace: The namespace of the objects; for kinds with namespaces, that of the request when absent.
  selector: The labels of the objects; the policy is evaluated with each of them.
  parameterNotFoundAction: The fate of requests when no object is found: Allow, or Deny, which obeys the failure policy.
Variable: A value that expressions of the policy can use.
  name: The name of the variable; expressions read it as variables.NAME.
  expression: The value in CEL. It may use variables that stand before it.

package io.k8s.api.admissionregistration.v1, io.k8s.api.admissionregistration.v1beta1
ValidatingAdmissionPolicy: Rules in CEL that requests must meet. It has an effect through bindings only.
  spec: The rules, and the requests that they are for.
  status: The findings of the check of types.
ValidatingAdmissionPolicySpec:
  paramKind: The kind of the objects that hold parameters; expressions see no params when absent.
  matchConstraints: The requests that the policy is for.
  validations: The rules; each must be true. Rules or audit annotations must be given.
  failurePolicy: The fate of requests when an expression or the policy is wrong: Fail (the default) or Ignore.
  auditAnnotations: The annotations that the policy adds to audit events. Rules or audit annotations must be given.
  matchConditions: The further conditions for requests that the policy is for, 64 at most; all must be true.
  variables: The values that expressions can use, in order. Each is computed once, when it is first used.
Validation: A rule that a request must meet.
  expression: The rule in CEL, which must be true. It sees object, oldObject, request, params, namespaceObject, variables and authorizer.
  message: The message for a refused request, in one line; it names the expression when absent.
  reason: The kind of refusal, which decides the status code: Unauthorized, Forbidden, Invalid (the default) or RequestEntityTooLarge.
  messageExpression: The message in CEL; it wins over "message" unless it fails or is empty.
AuditAnnotation: An annotation of audit events.
  key: The key of the annotation; the name of the policy is put before it.
  valueExpression: The value in CEL: a text, or null for no annotation.
ValidatingAdmissionPolicyStatus:
  observedGeneration: Generation of the policy that the check of types has seen.
  typeChecking: The findings of the check of types; absent while it was not made.
  conditions: The conditions of the policy.
TypeChecking:
  expressionWarnings: The expressions that do not fit the types of the matched resources.
ExpressionWarning: An expression that does not fit the types.
  fieldRef: The path of the expression, such as spec.validations[0].expression.
  warning: The problem, with the types for which it occurs.
ValidatingAdmissionPolicyBinding: The use of a policy, with parameters, for some requests.
  spec: The policy, the parameters, and the consequence of a rule that is not met.
ValidatingAdmissionPolicyBindingSpec:
  policyName: The name of the policy; the binding has no effect while there is none.
  paramRef: The objects that hold the parameters; expressions see null as params when absent.
  matchResources: The requests that the binding is for, among those of the policy; all of them when absent.
  validationActions: The consequences of a rule that is not met: Deny, Warn or Audit; not both Deny and Warn.

package io.k8s.api.admissionregistration.v1alpha1
MutatingAdmissionPolicy: Changes in CEL that are made to requests. It has an effect through bindings only.
  spec: The changes, and the requests that they are for.
MutatingAdmissionPolicySpec:
  paramKind: The kind of the objects that hold parameters; expressions see no params when absent.
  matchConstraints: The requests that the policy is for.
  variables: The values that expressions can use, in order. Each is computed once, when it is first used.
  mutations: The changes, which are made in order; each sees the result of the one before.
  failurePolicy: The fate of requests when an expression or the policy is wrong: Fail (the default) or Ignore.
  matchConditions: The further conditions for requests that the policy is for, 64 at most; all must be true.
  reinvocationPolicy: Whether the policy is evaluated again after others have changed the object: Never or IfNeeded.
Mutation: A change of the object. The type says which form is given.
  patchType: The form of the change: ApplyConfiguration or JSONPatch.
  applyConfiguration: The change as a part of the object, which is merged as in server-side apply.
  jsonPatch: The change as a list of operations on paths.
ApplyConfiguration:
  expression: The part of the object in CEL, such as Object{spec: Object.spec{replicas: 1}}. Atomic lists and maps are not allowed in it.
JSONPatch:
  expression: The list in CEL, such as [JSONPatch{op: "remove", path: "/spec/paused"}].
MutatingAdmissionPolicyBinding: The use of a policy, with parameters, for some requests.
  spec: The policy, the parameters and the requests.
MutatingAdmissionPolicyBindingSpec:
  policyName: The name of the policy; the binding has no effect while there is none.
  paramRef: The objects that hold the parameters; expressions see null as params when absent.
  matchResources: The requests that the binding is for, among those of the policy; all of them when absent.

package io.k8s.api.admissionregistration.v1, io.k8s.api.admissionregistration.v1beta1, io.k8s.api.admissionregistration.v1alpha1
NamedRuleWithOperations:
  operations: The actions: CREATE, UPDATE, DELETE, CONNECT, or * for all.
  apiGroups: The groups of the resources; * for all.
  apiVersions: The versions of the resources; * for all.
  resources: The names of the resources and subresources, such as pods and pods/status; * for all resources.
  scope: The scope of the resources: Cluster, Namespaced, or * for both (the default).

package io.k8s.api.admissionregistration.v1
RuleWithOperations: Actions on resources.
  operations: The actions: CREATE, UPDATE, DELETE, CONNECT, or * for all.
  apiGroups: The groups of the resources; * for all.
  apiVersions: The versions of the resources; * for all.
  resources: The names of the resources and subresources, such as pods and pods/status; * for all resources.
  scope: The scope of the resources: Cluster, Namespaced, or * for both (the default).
MutatingWebhookConfiguration: Programs that the server asks about requests and that may change the objects.
  webhooks: The webhooks, which are asked one after the other.
ValidatingWebhookConfiguration: Programs that the server asks about requests and that may refuse them.
  webhooks: The webhooks, which are asked all at once.
MutatingWebhook, ValidatingWebhook: A program that is asked about requests.
  name: The name of the webhook, with three parts at least, such as check.example.com; unique in the configuration.
  clientConfig: The address of the webhook.
  rules: The actions and resources that the webhook is asked about; one of the rules must match.
  failurePolicy: The fate of requests when the webhook cannot be asked: Fail (the default) or Ignore.
  matchPolicy: The policy for other versions of the same resource: Equivalent (the default) converts them for the webhook, Exact leaves them out.
  namespaceSelector: The labels that the namespace must have; all namespaces match when empty. Objects without a namespace always match.
  objectSelector: The labels that the new or the old object must have; all objects match when empty.
  sideEffects: Whether a question changes anything elsewhere: None, or NoneOnDryRun if it does not for dry runs.
  timeoutSeconds: The seconds that the server waits for the answer, from 1 to 30; 10 by default.
  admissionReviewVersions: The versions of AdmissionReview that the webhook understands, in order of preference; v1 or v1beta1 must be there.
  matchConditions: The further conditions for requests that the webhook is asked about, 64 at most; all must be true.
MutatingWebhook:
  reinvocationPolicy: Whether the webhook is asked again after others have changed the object: Never (the default) or IfNeeded.
WebhookClientConfig: The address of a webhook. Either a URL or a service is given.
  url: The address, which begins with https://. It has no user, no query and no fragment.
  service: The service that stands for the webhook.
  caBundle: The certificates, as PEM in base64, that sign the webhook's own; those of the system when absent.
ServiceReference:
  namespace: The namespace of the service.
  name: The name of the service.
  path: The path of the requests; none when absent.
  port: The number of the service's port; 443 by default.

package io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
CustomResourceDefinition: A kind of objects that somebody adds to the API. Its name is PLURAL.GROUP.
  spec: The names, versions and schemas of the kind.
  status: The progress of serving the kind.
CustomResourceDefinitionSpec:
  group: The group of the resource, served at /apis/GROUP. It cannot be changed.
  names: The names of the resource and of its kind.
  scope: The scope of the objects: Namespaced or Cluster. It cannot be changed.
  versions: The versions of the resource; exactly one of them is stored.
  conversion: The way in which objects are converted between versions.
  preserveUnknownFields: A field for definitions of older releases; it must be false. Write the mark of the same name into the schema instead.
CustomResourceDefinitionNames: The names of a resource and of its kind.
  plural: The name of the resource in paths, in the plural and in lower case.
  singular: The name of one object, in lower case; the kind in lower case by default.
  shortNames: The short names by which tools know the resource.
  kind: The kind of the objects, mostly in the singular and in CamelCase.
  listKind: The kind of lists; the kind followed by "List" by default.
  categories: The groups of resources to which it belongs for tools, such as all.
CustomResourceDefinitionVersion: A version of the resource.
  name: The name of the version, such as v1 or v1beta1.
  served: Whether clients can use the version.
  storage: Whether objects are stored in this version; exactly one version is.
  deprecated: Whether clients that use the version get a warning; false by default.
  deprecationWarning: The warning for a deprecated version; the server makes one by default.
  schema: The schema of the objects.
  subresources: The subresources of the objects; none when absent.
  additionalPrinterColumns: The columns of tables; the age of the object when absent.
  selectableFields: The fields by which lists and watches can be narrowed, 8 at most.
CustomResourceValidation: The schema of a version.
  openAPIV3Schema: The schema, which must give a type for each field.
CustomResourceColumnDefinition: A column of tables.
  name: The name of the column, for people.
  type: The type of the values: string, integer, number, boolean or date.
  format: The format of the values; "name" marks the column of the name.
  description: The meaning of the column, for people.
  priority: The rank of the column: 0 is always shown, a greater number in wide tables only.
  jsonPath: The simple JSON path of the value, such as .spec.replicas.
SelectableField: A field by which lists and watches can be narrowed.
  jsonPath: The simple JSON path of the field, such as .spec.color; it names a text, a whole number or a boolean.
CustomResourceSubresources: The subresources of a version.
  status: An empty object, which adds the subresource "status": only it can then write the status.
  scale: The paths for the subresource "scale".
CustomResourceSubresourceStatus: An empty object: the subresource "status" has no settings.
CustomResourceSubresourceScale: The paths of the fields that the subresource "scale" shows.
  specReplicasPath: The path of the wanted number, below .spec.
  statusReplicasPath: The path of the observed number, below .status.
  labelSelectorPath: The path of the label selector as text, below .spec or .status; autoscalers need it.
CustomResourceConversion:
  strategy: The way of conversion: None (the default) changes apiVersion only, Webhook asks a program.
  webhook: The program that converts, for the strategy Webhook.
WebhookConversion: The program that converts objects.
  clientConfig: The address of the program.
  conversionReviewVersions: The versions of ConversionReview that the program understands, in order of preference; v1 or v1beta1 must be there.
WebhookClientConfig: The address of a program. Either a URL or a service is given.
  url: The address, which begins with https://. It has no user, no query and no fragment.
  service: The service that stands for the program.
  caBundle: The certificates, as PEM in base64, that sign the program's own; those of the system when absent.
ServiceReference:
  namespace: The namespace of the service.
  name: The name of the service.
  path: The path of the requests; none when absent.
  port: The number of the service's port; 443 by default.
CustomResourceDefinitionStatus:
  conditions: The conditions of the definition, such as Established and NamesAccepted.
  acceptedNames: The names that are served; they differ from the wanted ones when another definition has those.
  storedVersions: The versions in which objects may be stored. Remove one here before you remove it from the spec.
CustomResourceDefinitionCondition: One statement about a definition.
  type: The name of the condition: Established, NamesAccepted, NonStructuralSchema, Terminating or KubernetesAPIApprovalPolicyConformant.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
JSONSchemaProps: A schema, in the part of JSON Schema that definitions may use.
  id, $schema, $ref, patternProperties, dependencies, additionalItems, definitions: A keyword of JSON Schema that definitions cannot use.
  title: The title of the value, for people.
  description: The meaning of the value, for people; kubectl explain shows it.
  externalDocs: A page that says more about the value.
  example: An example of the value, for people; it has no effect.
  type: The type of the value: object, array, string, integer, number or boolean.
  format: The format of the value, such as date-time, int32 or uuid; one that is not known has no effect.
  default: The value that the server sets when the field is absent.
  nullable: Whether the value may be null; otherwise null counts as absent where there is a default.
  enum: The values that are allowed; others are refused.
  maximum, minimum: The bound for the number; the bound itself is allowed.
  exclusiveMaximum: Whether the number must be less than "maximum", not equal to it.
  exclusiveMinimum: Whether the number must be greater than "minimum", not equal to it.
  multipleOf: The number of which the value must be a multiple.
  maxLength: The greatest number of characters in the text.
  minLength: The least number of characters in the text.
  pattern: The regular expression that the text must match somewhere, in the syntax of RE2.
  maxItems: The greatest number of items in the list.
  minItems: The least number of items in the list.
  uniqueItems: Whether the items must differ. Definitions cannot set it; use x-kubernetes-list-type instead.
  items: The schema of the items of the list.
  maxProperties: The greatest number of members of the object.
  minProperties: The least number of members of the object.
  required: The names of the fields that must be there.
  properties: The schemas of the fields, by name.
  additionalProperties: The schema of all values of a map; it excludes "properties".
  allOf: The schemas that the value must meet, all of them.
  oneOf: The schemas of which the value must meet exactly one.
  anyOf: The schemas of which the value must meet one at least.
  not: The schema that the value must not meet.
  x-kubernetes-preserve-unknown-fields: Whether fields that the schema does not name are kept; otherwise the server removes them.
  x-kubernetes-embedded-resource: Whether the value is a whole object, with apiVersion, kind and metadata.
  x-kubernetes-int-or-string: Whether the value is a whole number or a text; no type is then given.
  x-kubernetes-list-type: The way in which lists are merged: atomic (the default) as a whole, set by value, map by the keys.
  x-kubernetes-list-map-keys: The names of the fields that identify an item, for the list type map.
  x-kubernetes-map-type: The way in which maps and objects are merged: granular (the default) by field, atomic as a whole.
  x-kubernetes-validations: The rules in CEL that the value must meet.
ExternalDocumentation:
  description: The content of the page, for people.
  url: The address of the page.
ValidationRule: A rule in CEL that a value must meet.
  rule: The rule, which must be true. It sees the value as self, and with oldSelf, which makes it a rule for updates, the value before.
  message: The message for a refused value, in one line; it names the rule when absent.
  messageExpression: The message in CEL; it wins over "message" unless it fails or is empty.
  reason: The kind of error: FieldValueInvalid (the default), FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.
  fieldPath: The path, below the value, of the field that the error names, such as .spec.color; the value itself by default.
  optionalOldSelf: Whether the rule is also for values that are new; oldSelf is then optional.

package io.k8s.kube-aggregator.pkg.apis.apiregistration.v1
APIService: The place where a version of a group is served. Its name is VERSION.GROUP.
  spec: The version, and the service that has it.
  status: The state of the service.
APIServiceSpec:
  service: The service that serves the version; this server does so itself when absent.
  group: The name of the group.
  version: The version of the group.
  insecureSkipTLSVerify: Whether the certificate of the service is not checked. It excludes caBundle.
  caBundle: The certificates, as PEM in base64, that sign the service's own; those of the system when absent.
  groupPriorityMinimum: The least rank of the group in discovery, from 1 to 20000; a higher number stands first.
  versionPriority: The rank of the version in its group, from 1 to 1000; a higher number stands first.
ServiceReference:
  namespace: The namespace of the service.
  name: The name of the service.
  port: The number of the service's port; 443 by default.
APIServiceStatus:
  conditions: The conditions of the service; Available says whether requests are passed on.
APIServiceCondition: One statement about an API service.
  type: The name of the condition; Available is the one that there is.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
`;
