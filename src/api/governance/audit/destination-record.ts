import { z } from 'zod'
import type { AuditDestination } from '../../../delivery/audit-destinations.ts'
import { signingSecretField } from '../../../delivery/destinations/standard-webhooks.ts'
import { installationChain } from '../../../governance/audit/chain.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { decodeList } from '../../../platform/db/values.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'
import { findServerProblem } from '../../../platform/http/syslog.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { chainField } from './filters.ts'

const name = nameField(200)
const actionPrefixes = z
  .array(z.string().min(1).max(100))
  .min(1)
  .max(50)
  .nullable()
  .describe('Only actions that begin with one of these, such as `key.`; null: all.')

const common = {
  name,
  enabled: z.boolean().default(true),
  action_prefixes: actionPrefixes.default(null),
  chain: chainField
    .default('organization')
    .describe('`installation` is for the organization that operates this installation.'),
  from_seq: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .describe('The first entry to send. Defaults to the next one that is written.'),
}

const webhookConfig = z.strictObject({
  url: z.string().min(1).max(2000),
  signing_secret: signingSecretField.optional().describe('Signs messages as Standard Webhooks specifies.'),
})

const syslogConfig = z.strictObject({
  host: z.string().regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an IP address'),
  port: z.int().min(1).max(65_535).default(6514),
  tls: z
    .boolean()
    .default(true)
    .describe('false only for a host and port that the operator lists in `egress.allow_private`.'),
})

export const createBody = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('webhook'), config: webhookConfig, ...common }),
  z.strictObject({ type: z.literal('syslog'), config: syslogConfig, ...common }),
])

export type CreateBody = z.output<typeof createBody>

export const updateBody = z.strictObject({
  name: name.optional(),
  enabled: z.boolean().optional(),
  action_prefixes: actionPrefixes.optional(),
})

export const auditDestinationRecord = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    type: z.enum(['webhook', 'syslog']),
    config: z.record(z.string(), z.unknown()).describe('Without the signing secret.'),
    is_signed: z.boolean(),
    action_prefixes: z.array(z.string()).nullable(),
    enabled: z.boolean().describe('Set to false when a webhook responds with 410.'),
    chain: chainField,
    created_at: z.string(),
    updated_at: z.string(),
    status: z.strictObject({
      position: z.int().describe('The last entry that was delivered, or that `action_prefixes` exclude.'),
      pending: z.int().describe('Entries after it.'),
      delivered: z.int(),
      missed: z.int().describe('Entries that retention deleted before they were delivered.'),
      failures: z.int().describe('Attempts that failed since the last success.'),
      last_success_at: z.string().nullable(),
      last_error: z.string().nullable(),
      last_error_at: z.string().nullable(),
      retry_at: z.string().nullable(),
    }),
    managed_by: managedBy,
  })
  .meta({ id: 'AuditDestination' })

export function toDestinationRecord(
  row: AuditDestination,
  head: number,
  isSigned: boolean,
): z.output<typeof auditDestinationRecord> {
  const { position, delivered, missed, failures, last_success_at, last_error, last_error_at, retry_at } = row
  const pending = Math.max(0, head - position)
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    config: JSON.parse(row.config),
    is_signed: isSigned,
    action_prefixes: decodeList(row.action_prefixes),
    enabled: row.enabled === 1,
    chain: row.chain_id === installationChain ? installationChain : 'organization',
    created_at: row.created_at,
    updated_at: row.updated_at,
    status: {
      position,
      pending,
      delivered,
      missed,
      failures,
      last_success_at,
      last_error,
      last_error_at,
      retry_at,
    },
  }
}

export function validateAddress(body: CreateBody, allowPrivate: readonly string[]): void {
  const [field, problem] =
    body.type === 'webhook'
      ? ['config.url', findUrlProblem(URL.parse(body.config.url), allowPrivate)]
      : ['config.host', findServerProblem(body.config, allowPrivate)]
  if (problem) throw invalidFieldError(field ?? 'config', problem)
}
