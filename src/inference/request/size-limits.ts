import type { Settings } from '../../gateway/settings.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject } from '../../platform/json/json-values.ts'

type SizeLimits = Pick<Settings['limits'], 'list_entries' | 'parts'>

/**
 * Rejects oversized lists before the schema is applied: every message, part, tool and field costs time in each stage,
 * far more than its bytes do. A body with fewer values than that need not be checked.
 */
export function enforceSizeLimits(body: unknown, limits: SizeLimits): void {
  const fields = asObject(body)
  if (!fields) return
  assertLength('body', Object.keys(fields).length, limits)
  const parts = { count: 0 }
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'object' || value === null) continue
    assertLength(name, sizeOf(value), limits)
    if (!Array.isArray(value)) countParts(value, name, parts, limits)
    else for (const [index, entry] of value.entries()) countParts(entry, `${name}.${index}`, parts, limits)
  }
}

function assertLength(field: string, entries: number, { list_entries }: SizeLimits): void {
  if (entries <= list_entries) return
  const unit = field === 'body' ? 'fields' : 'entries'
  throw invalidFieldError(
    field,
    `has ${entries} ${unit}; at most ${list_entries} are allowed (limits.list_entries)`,
  )
}

function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length
}

/** Counts the entries of nested lists: the parts of a message, the functions of a tool. */
function countParts(entry: unknown, path: string, parts: { count: number }, limits: SizeLimits): void {
  if (typeof entry !== 'object' || entry === null) return
  assertLength(path, sizeOf(entry), limits)
  for (const [name, inner] of Object.entries(entry)) {
    if (typeof inner !== 'object' || inner === null) continue
    assertLength(`${path}.${name}`, sizeOf(inner), limits)
    if (!Array.isArray(inner)) continue
    parts.count += inner.length
    if (parts.count > limits.parts)
      throw invalidFieldError(
        `${path}.${name}`,
        `the request has more than ${limits.parts} parts (limits.parts)`,
      )
  }
}
