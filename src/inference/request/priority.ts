import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import { type Priority, priorities } from '../../formats/vocabulary.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'

export const priorityHeader = 'x-headgate-priority'

/** What a key says about the priority of its requests. */
interface KeyPriority {
  /** The highest that a request may have. */
  maxPriority: Priority
}

/** The priority of a request, in its header or else in its preferences. */
export function parsePriority(
  { priority }: ProviderPreferences,
  headers: Headers,
  { maxPriority }: KeyPriority,
): Priority {
  const header = headers.get(priorityHeader)
  const field = header === null ? 'provider.priority' : priorityHeader
  const requested = header?.trim().toLowerCase() ?? priority
  const known = priorities.find((name) => name === requested)
  if (!known) throw invalidFieldError(field, `must be ${priorities.join(', ')}`)
  if (!isHigher(known, maxPriority)) return known
  throw invalidFieldError(
    field,
    `cannot be ${known}: requests with this key have at most the priority ${maxPriority}. ` +
      'Members with the permission keys:write can set its max_priority.',
  )
}

export function lowerPriority(one: Priority, other: Priority): Priority {
  return isHigher(one, other) ? other : one
}

function isHigher(priority: Priority, other: Priority): boolean {
  return priorities.indexOf(priority) > priorities.indexOf(other)
}
