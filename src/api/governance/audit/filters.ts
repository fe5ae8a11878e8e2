import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { installationChain } from '../../../governance/audit/chain.ts'
import { actorTypes, outcomes } from '../../../governance/audit/record.ts'
import type { AuditSelection } from '../../../governance/audit/store.ts'
import { findOperatorOrganization } from '../../../identity/organizations.ts'
import { GatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'

const text = z.string().min(1).max(256)

const maxActions = 20

/** Actions separated by commas. */
const actionList = z
  .string()
  .min(1)
  .max(1024)
  .transform((list, context) => {
    const actions = [...new Set(list.split(','))]
    if (actions.length <= maxActions && actions.every((action) => text.safeParse(action).success))
      return actions
    const message = `must be an action, or at most ${maxActions} separated by commas`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  .meta({ override: { type: 'string', minLength: 1, maxLength: 1024 } })

/** The log of the organization, or that of events that belong to no organization. */
export const chainField = z.enum(['organization', installationChain])

/** Filters that select entries. */
export const auditFilters = z.object({
  id: z.uuid().optional().describe('The id of an entry.'),
  action: actionList
    .optional()
    .describe(`Such as \`key.update\`, or at most ${maxActions} separated by commas.`),
  actor_type: z.enum(actorTypes).optional(),
  actor_id: text.optional().describe('A member, or the hash of a key.'),
  target_type: text.optional(),
  target_id: text.optional(),
  workspace_id: z.uuid().optional(),
  outcome: z.enum(outcomes).optional(),
  request_id: text.optional(),
  from: utcTimestamp.optional(),
  to: utcTimestamp.optional().describe('Exclusive.'),
  chain: chainField
    .default('organization')
    .describe(
      '`installation`: events that belong to no organization, such as the start of the server. Only the organization that operates this installation can read them.',
    ),
})

export async function resolveSelection(
  gateway: Gateway,
  caller: Caller,
  filters: z.output<typeof auditFilters>,
): Promise<AuditSelection> {
  const { from, to, chain, ...rest } = filters
  const [start, end] = [toStoredTime(from), toStoredTime(to)]
  if (start !== null && end !== null && start >= end) throw invalidFieldError('to', 'must be later than from')
  return { ...rest, chainId: await resolveChain(gateway, caller, chain), from: start, to: end }
}

/** Converts to the precision of the entries, so that texts compare as times do. */
function toStoredTime(time: string | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString()
}

export async function resolveChain(
  { db }: Gateway,
  { organizationId }: Caller,
  chain: z.output<typeof chainField>,
): Promise<string> {
  if (chain === 'organization') return organizationId
  if ((await findOperatorOrganization(db))?.id === organizationId) return installationChain
  const message =
    'chain: only the organization that operates this installation can read the chain installation.'
  throw new GatewayError('permission_missing', { message, metadata: { permission: 'audit:read' } })
}
