import type { Settings } from '../../app/settings.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { asObject } from '../../lib/json-values.ts'

type SizeLimits = Pick<Settings['limits'], 'list_entries' | 'parts'>

/**
 * Refuses what no client sends before the schema looks at it: every message, part, tool and field costs time in each
 * stage, far more than its bytes. `values` is how many there are in the whole body: few cannot be too many of anything.
 */
export function enforceSizeLimits(body: unknown, values: number, ceilings: SizeLimits): void {
  const fields = asObject(body)
  if (!fields || values <= Math.min(ceilings.list_entries, ceilings.parts)) return
  assertLength('body', Object.keys(fields).length, ceilings)
  const parts = { count: 0 }
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'object' || value === null) continue
    assertLength(name, sizeOf(value), ceilings)
    if (!Array.isArray(value)) countParts(value, name, parts, ceilings)
    else for (const [place, entry] of value.entries()) countParts(entry, `${name}.${place}`, parts, ceilings)
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

/** What the lists inside an entry hold: the parts of a message, the functions of a tool. */
function countParts(entry: unknown, at: string, parts: { count: number }, ceilings: SizeLimits): void {
  if (typeof entry !== 'object' || entry === null) return
  assertLength(at, sizeOf(entry), ceilings)
  for (const [name, inner] of Object.entries(entry)) {
    if (typeof inner !== 'object' || inner === null) continue
    assertLength(`${at}.${name}`, sizeOf(inner), ceilings)
    if (!Array.isArray(inner)) continue
    parts.count += inner.length
    if (parts.count > ceilings.parts)
      throw invalidFieldError(
        `${at}.${name}`,
        `the request has more than ${ceilings.parts} parts (limits.parts)`,
      )
  }
}
