import type { Schemas } from '../../api/client.ts'

export type Guardrail = Schemas['Guardrail']
export type Draft = Schemas['GuardrailDraft']
export type BuiltinFilter = NonNullable<Draft['content_filter_builtins']>[number]
export type CustomFilter = NonNullable<Draft['content_filters']>[number]
export type FilterAction = CustomFilter['action']

/** A guardrail as the form has it. */
export interface DraftFields {
  name: string
  description: string
  builtins: BuiltinFilter[]
  patterns: CustomFilter[]
  isDryRun: boolean
  /** All other fields that are set, as JSON. */
  rest: string
}

/** Fields that the form covers, and fields that no draft has. */
const formFields = ['name', 'description', 'content_filter_builtins', 'content_filters', 'dry_run']
const readOnlyFields = ['id', 'scope', 'workspace_id', 'created_at', 'updated_at']

export function fieldsOf(guardrail: Guardrail): DraftFields {
  return {
    name: guardrail.name,
    description: guardrail.description ?? '',
    builtins: guardrail.content_filter_builtins ?? [],
    patterns: guardrail.content_filters ?? [],
    isDryRun: guardrail.dry_run,
    rest: JSON.stringify(restOf(guardrail), null, 2),
  }
}

/** The other fields that are set. */
function restOf(guardrail: Guardrail): Record<string, unknown> {
  const hidden = [...formFields, ...readOnlyFields]
  const entries = Object.entries(guardrail)
  return Object.fromEntries(
    entries.filter(([name, value]) => !hidden.includes(name) && value !== null && value !== false),
  )
}

/** The draft that the form describes, or what is wrong with its JSON. */
export function buildDraft(fields: DraftFields, stored: Guardrail): { draft: Draft } | { problem: string } {
  const rest = parseObject(fields.rest)
  if (typeof rest === 'string') return { problem: rest }
  const taken = Object.keys(rest).find((name) => formFields.includes(name) || readOnlyFields.includes(name))
  if (taken) return { problem: `${taken} is not set here.` }
  const unknown = Object.keys(rest).find((name) => !Object.hasOwn(stored, name))
  if (unknown) return { problem: `A guardrail has no field ${unknown}.` }
  const removed = Object.entries(restOf(stored)).filter(([name]) => !Object.hasOwn(rest, name))
  const cleared = removed.map(([name, value]) => [name, value === true ? false : null])
  return {
    draft: {
      ...Object.fromEntries(cleared),
      ...rest,
      name: fields.name.trim(),
      description: fields.description.trim() || null,
      content_filter_builtins: fields.builtins.length > 0 ? fields.builtins : null,
      content_filters: fields.patterns.length > 0 ? fields.patterns : null,
      dry_run: fields.isDryRun,
    },
  }
}

/** The object, or what is wrong. */
function parseObject(text: string): Record<string, unknown> | string {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : 'This has to be an object, such as {}.'
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not JSON.'
  }
}
