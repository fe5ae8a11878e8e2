import { z } from 'zod'
import type { AuditEntry } from './entry.ts'

export const actorTypes = ['member', 'key', 'workload', 'scim', 'job', 'command', 'anonymous'] as const
export const outcomes = ['success', 'refused'] as const

/** An entry as the API shows it. */
export const auditRecord = z
  .strictObject({
    id: z.uuid(),
    chain: z.string().describe('The organization, or `installation`.'),
    seq: z.int().describe('The number of the entry in its chain, without gaps.'),
    created_at: z.string(),
    action: z.string().describe('`<target>.<verb>`, such as `key.update`.'),
    outcome: z.enum(outcomes),
    actor: z.strictObject({
      type: z.enum(actorTypes),
      id: z.string().nullable().describe('A member, or the hash of a key.'),
      name: z.string().nullable(),
    }),
    target: z.strictObject({ type: z.string(), id: z.string(), name: z.string().nullable() }),
    workspace_id: z.string().nullable(),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    changes: z
      .strictObject({
        before: z.record(z.string(), z.unknown()).nullable().optional(),
        after: z.record(z.string(), z.unknown()).nullable().optional(),
        details: z.record(z.string(), z.unknown()).optional(),
      })
      .nullable()
      .describe('The fields that changed. Secrets are masked.'),
    previous_hash: z.string(),
    hash: z
      .string()
      .describe('Covers the entry and `previous_hash`, keyed with the secret of the installation.'),
  })
  .meta({ id: 'AuditEntry' })

export type AuditRecord = z.output<typeof auditRecord>

export function toAuditRecord(entry: AuditEntry): AuditRecord {
  return {
    id: entry.id,
    chain: entry.chain_id,
    seq: entry.seq,
    created_at: entry.created_at,
    action: entry.action,
    outcome: entry.outcome,
    actor: { type: entry.actor_type, id: entry.actor_id, name: entry.actor_name },
    target: { type: entry.target_type, id: entry.target_id, name: entry.target_name },
    workspace_id: entry.workspace_id,
    ip: entry.ip,
    user_agent: entry.user_agent,
    request_id: entry.request_id,
    changes: entry.changes === null ? null : JSON.parse(entry.changes),
    previous_hash: entry.previous_hash,
    hash: entry.hash,
  }
}
