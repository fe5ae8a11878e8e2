import type { Schemas } from '../../api/client.ts'

export type Guardrail = Schemas['Guardrail']
export type Draft = Schemas['GuardrailDraft']
export type BuiltinFilter = NonNullable<Draft['content_filter_builtins']>[number]
export type CustomFilter = NonNullable<Draft['content_filters']>[number]
export type FilterAction = CustomFilter['action']

/** Every field of a guardrail that can be set. */
export type DraftFields = Required<Draft>

const emptyFields: DraftFields = {
  name: '',
  description: null,
  dry_run: false,
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null,
  allowed_data_regions: null,
  limit_usd: null,
  reset_interval: null,
  include_byok_in_budgets: false,
  enforce_zdr: null,
  enforce_zdr_vendor_a: null,
  enforce_zdr_vendor_b: null,
  enforce_zdr_vendor_c: null,
  enforce_zdr_vendor_d: null,
  enforce_zdr_other: null,
  enable_free_model_publication: null,
  enable_free_model_training: null,
  enable_paid_model_training: null,
  moderation: null,
  external_checks: null,
  content_filter_builtins: null,
  content_filters: null,
  unscannable_content: null,
}

const fieldNames = Object.keys(emptyFields)

export function fieldsOf(guardrail: Guardrail): DraftFields {
  return complete(Object.fromEntries(fieldNames.map((name) => [name, guardrail[name as keyof Guardrail]])))
}

/** The body for the API. */
export function toDraft(fields: DraftFields): Draft {
  return {
    ...fields,
    name: fields.name.trim(),
    description: fields.description?.trim() || null,
    ...Object.fromEntries(
      Object.entries(fields)
        .filter(isEmptyList)
        .map(([name]) => [name, null]),
    ),
  }
}

function isEmptyList([, value]: [string, unknown]): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Only the fields that are set, as JSON. */
export function formatFields(fields: DraftFields): string {
  const set = Object.entries(toDraft(fields)).filter(([, value]) => value !== null && value !== false)
  return JSON.stringify(Object.fromEntries(set), null, 2)
}

/** The fields that a text of `formatFields` describes, or what is wrong with it. Absent fields are not set. */
export function parseFields(text: string): { fields: DraftFields } | { problem: string } {
  const value = parseObject(text)
  if (typeof value === 'string') return { problem: value }
  const unknown = Object.keys(value).find((name) => !fieldNames.includes(name))
  if (unknown !== undefined) return { problem: `A guardrail has no field ${unknown}.` }
  if (typeof value.name !== 'string' || !value.name.trim()) return { problem: 'The field name is required.' }
  return { fields: complete(value) }
}

/** The server checks the values of fields. */
function complete(fields: Partial<Record<keyof DraftFields, unknown>>): DraftFields {
  return { ...emptyFields, ...fields } as DraftFields
}

/** The object, or what is wrong. */
function parseObject(text: string): Partial<Record<keyof DraftFields, unknown>> | string {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? value : 'This has to be an object, such as {"name": "Interns"}.'
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not JSON.'
  }
}
