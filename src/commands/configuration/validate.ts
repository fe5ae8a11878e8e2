import type { z } from 'zod'
import { isMasked } from '../../platform/crypto/mask.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type KindFields, valueAt, withValueAt } from './fields.ts'
import type { Item } from './kind.ts'
import type { State } from './state.ts'
import type { PlanOptions, Step } from './step.ts'
import { documentField, toApiFields } from './translate.ts'

/** The fields of a record with operations of their own, and those of the record itself, as the API takes them. */
export interface StepFields {
  own: JsonObject
  parts: JsonObject
}

/** What a step sends: everything if it creates a record, otherwise what changes. */
export function fieldsOfStep(step: Step, state: State, { parts }: KindFields): StepFields {
  const { kind, resolved, changes, workspace, action, document } = step
  if (!resolved) return { own: {}, parts: {} }
  const changed = new Set(changes.map(({ field }) => field.split('.')[0]))
  const sent = Object.entries(withStoredSecrets(step)).filter(
    ([field]) => action === 'create' || action === 'replace' || changed.has(field),
  )
  const isPart = ([field]: [string, unknown]) => field in parts.shape
  const own = toApiFields(
    kind,
    Object.fromEntries(sent.filter((entry) => !isPart(entry))),
    (reference, name, path) => {
      try {
        return state.idOf(reference.kind, name, workspace)
      } catch (error) {
        if (error instanceof Error)
          error.message = `spec.${path.join('.')} (${document?.locate(['spec', ...path])}): ${error.message}`
        throw error
      }
    },
  )
  return { own, parts: Object.fromEntries(sent.filter(isPart)) }
}

/** A secret whose variable is not set stays as it is stored. */
function withStoredSecrets({ resolved, item }: Step): JsonObject {
  let spec = resolved?.spec ?? {}
  for (const [path, { value }] of resolved?.secrets ?? []) {
    const masked = value === null ? maskedValue(item, path) : undefined
    if (masked !== undefined) spec = withValueAt(spec, path, masked)
  }
  return spec
}

/** Fields that only an update can set are sent after the record is created. */
export function splitCreation(own: JsonObject, { creatable }: KindFields) {
  const entries = Object.entries(own)
  return {
    first: Object.fromEntries(entries.filter(([field]) => creatable.has(field))),
    later: Object.fromEntries(entries.filter(([field]) => !creatable.has(field))),
  }
}

/** The body of the request that creates a record. */
export function toCreateBody({ kind, name, workspace }: Step, own: JsonObject, state: State): JsonObject {
  const body = {
    ...own,
    ...(kind.nameField !== null && !kind.save && { [kind.nameField]: name }),
    ...(kind.place !== 'organization' &&
      !kind.save && { workspace_id: workspace === null ? null : state.idOf('Workspace', workspace, null) }),
  }
  return kind.toCreateBody?.(body, name) ?? body
}

/** Problems that are known before anything is sent. */
export function validateStep(step: Step, state: State, fields: KindFields, options: PlanOptions): string[] {
  const { kind, document, resolved, action, changes } = step
  if (!document || !resolved || action === 'keep') return []
  const missing = findMissingSecrets(step, options)
  if (missing.length > 0) return missing
  if (action === 'replace' && !kind.isReplaceable) {
    const [first] = changes.filter(({ field }) => !fields.updatable.has(field.split('.')[0] ?? ''))
    const path = ['spec', ...(first?.field.split('.') ?? [])]
    return [
      `${document.locate(path)}: ${path.join('.')}: cannot be changed for ${kind.kind} "${step.name}". Give the document another name to create another record.`,
    ]
  }
  const { own, parts } = fieldsOfStep(step, state, fields)
  const isNew = action !== 'update'
  if (kind.isPermanent && isNew) state.idOf('Workspace', step.name, null)
  const { first, later } = isNew ? splitCreation(own, fields) : { first: null, later: own }
  return [
    ...(first && fields.create
      ? describeIssues(step, fields.create.safeParse(toCreateBody(step, first, state)))
      : []),
    ...(fields.update && Object.keys(later).length > 0
      ? describeIssues(step, fields.update.safeParse(later))
      : []),
    ...describeIssues(step, fields.parts.safeParse(parts)),
  ]
}

function findMissingSecrets({ resolved, item, action, document }: Step, options: PlanOptions): string[] {
  if (!options.needsSecrets) return []
  const isNew = item === null || action === 'replace'
  return [...(resolved?.secrets ?? [])].flatMap(([path, { value, variable }]) =>
    value === null && isNew
      ? [
          `${document?.locate(['spec', ...path.split('.')])}: spec.${path}: the variable ${variable} is not set.`,
        ]
      : [],
  )
}

function describeIssues(step: Step, result: z.ZodSafeParseResult<unknown>): string[] {
  const { kind, document, resolved } = step
  if (result.success || !document) return []
  const unknownSecrets = [...(resolved?.secrets ?? [])].flatMap(([path, { value }]) =>
    value === null ? [path] : [],
  )
  return result.error.issues.flatMap((issue) => {
    const [first, ...rest] = issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
    const path = first === undefined ? [] : [documentField(kind, String(first)), ...rest]
    const text = path.join('.')
    // A diff is possible without the secrets.
    if (unknownSecrets.some((secret) => secret === text || secret.startsWith(`${text}.`))) return []
    if (first === kind.nameField) return [`${document.locate(['name'])}: name: ${issue.message}.`]
    return [`${document.locate(['spec', ...path])}: ${['spec', ...path].join('.')}: ${issue.message}.`]
  })
}

/** The stored secret of a record, masked: an update that has it leaves it as it is. */
function maskedValue(item: Item | null, path: string): string | undefined {
  const text = asString(valueAt(item?.spec, path))
  return text !== undefined && isMasked(text) ? text : undefined
}
