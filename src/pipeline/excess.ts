import { badField } from '../errors.ts'
import { objectOf } from '../lib/loose.ts'
import type { Settings } from '../settings.ts'

type Ceilings = Pick<Settings['limits'], 'list_entries' | 'parts'>

/**
 * Refuses what no client sends before the schema looks at it: every message, part, tool and field costs time in each
 * stage, far more than its bytes. `values` is how many there are in the whole body: few cannot be too many of anything.
 */
export function refuseExcess(body: unknown, values: number, ceilings: Ceilings): void {
  const fields = objectOf(body)
  if (!fields || values <= Math.min(ceilings.list_entries, ceilings.parts)) return
  refuseLonger('body', Object.keys(fields).length, ceilings)
  const parts = { count: 0 }
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'object' || value === null) continue
    refuseLonger(name, sizeOf(value), ceilings)
    if (!Array.isArray(value)) countParts(value, name, parts, ceilings)
    else for (const [place, entry] of value.entries()) countParts(entry, `${name}.${place}`, parts, ceilings)
  }
}

function refuseLonger(field: string, entries: number, { list_entries }: Ceilings): void {
  if (entries <= list_entries) return
  const unit = field === 'body' ? 'fields' : 'entries'
  throw badField(field, `has ${entries} ${unit}; at most ${list_entries} are allowed (limits.list_entries)`)
}

function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length
}

/** What the lists inside an entry hold: the parts of a message, the functions of a tool. */
function countParts(entry: unknown, at: string, parts: { count: number }, ceilings: Ceilings): void {
  if (typeof entry !== 'object' || entry === null) return
  refuseLonger(at, sizeOf(entry), ceilings)
  for (const [name, inner] of Object.entries(entry)) {
    if (typeof inner !== 'object' || inner === null) continue
    refuseLonger(`${at}.${name}`, sizeOf(inner), ceilings)
    if (!Array.isArray(inner)) continue
    parts.count += inner.length
    if (parts.count > ceilings.parts)
      throw badField(`${at}.${name}`, `the request has more than ${ceilings.parts} parts (limits.parts)`)
  }
}
