import type { z } from 'zod'
import type { BodyFields } from '../call/body-texts.ts'

/** Names and settings of this gateway, and texts whose pattern leaves no room for others. */
const structuralNames: ReadonlySet<string> = new Set([
  ...['model', 'models', 'session_id', 'trace'],
  ...['size', 'seconds', 'previous_job_id', 'callback_url'],
])

/** Determines which fields of a schema can have a text of the client. */
export function describeBodyFields(shape: Readonly<Record<string, z.core.$ZodType>>): BodyFields {
  const names = Object.keys(shape)
  return {
    known: new Set(names),
    structural: new Set(names.filter((name) => structuralNames.has(name) || !canBeText(shape[name]))),
  }
}

const fixedTypes: ReadonlySet<string> = new Set(['enum', 'literal', 'boolean', 'number'])

function canBeText(schema: z.core.$ZodType | undefined): boolean {
  if (!schema) return true
  const { def } = schema._zod
  if ('innerType' in def) return canBeText(def.innerType as z.core.$ZodType)
  if (def.type === 'array' && 'element' in def) return canBeText(def.element as z.core.$ZodType)
  return !fixedTypes.has(def.type)
}
