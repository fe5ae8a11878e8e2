import { z } from 'zod'
import { type Priority, priorities } from '../../../formats/vocabulary.ts'
import type { ApiKey, NewKey } from '../../../identity/keys.ts'
import { isWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'

/** Fields of the body of a new or changed key. */
export const priorityBody = {
  priority: z
    .enum(priorities)
    .optional()
    .describe('An extension: which requests pass first where the rate of a provider is nearly used.'),
  max_priority: z
    .enum(priorities)
    .nullish()
    .describe('An extension: the highest priority that a request may ask for. null: `priority`.'),
}

interface RequestedPriority {
  priority?: Priority | undefined
  max_priority?: Priority | null | undefined
}

/** The columns to change. A member who may manage only the keys they created cannot let them pass those of others. */
export function resolvePriority(
  scope: Scope,
  workspaceId: string,
  requested: RequestedPriority,
  before: Pick<ApiKey, 'priority' | 'max_priority'> = { priority: 'normal', max_priority: null },
): Partial<Pick<ApiKey, 'priority' | 'max_priority'>> {
  const { priority, max_priority } = requested
  const changes = {
    ...(priority !== undefined && { priority }),
    ...(max_priority !== undefined && { max_priority }),
  }
  const isAll = isWithinScope(scope, { workspaceId })
  for (const field of ['priority', 'max_priority'] as const)
    if (requested[field] === 'high' && before[field] !== 'high' && !isAll)
      throw invalidFieldError(field, 'cannot be high for your role: it may manage only the keys you created')
  const after = { ...before, ...changes }
  if (after.max_priority && isLower(after.max_priority, after.priority))
    throw invalidFieldError(
      max_priority === undefined ? 'priority' : 'max_priority',
      `must not make max_priority (${after.max_priority}) lower than priority (${after.priority})`,
    )
  return changes
}

/** The same for a new key. */
export function resolveNewPriority(
  scope: Scope,
  workspaceId: string,
  requested: RequestedPriority,
): Required<Pick<NewKey, 'priority' | 'maxPriority'>> {
  const { priority = 'normal', max_priority = null } = resolvePriority(scope, workspaceId, requested)
  return { priority, maxPriority: max_priority }
}

function isLower(priority: Priority, other: Priority): boolean {
  return priorities.indexOf(priority) < priorities.indexOf(other)
}
