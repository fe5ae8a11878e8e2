import { z } from 'zod'
import { assertMayIssueTokens } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { type ApiKey, findKey } from '../../../identity/keys.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { requireFields } from '../../../platform/validation/schema-rules.ts'
import { findConditionProblem } from './claims.ts'
import {
  deletePolicy,
  findPolicy,
  insertPolicy,
  listPolicies,
  lockIssuer,
  lockPolicy,
  type Policy,
  updatePolicy,
} from './store.ts'

const tag = 'Workload identity'
const path = '/workload-identity/policies'
const params = z.object({ id: z.uuid() })
const errorNotFound = () => gatewayError('not_found', 'The policy does not exist.')

export const maxSubjectLength = 1024

const policyRecord = z
  .strictObject({
    id: z.uuid().describe('The `federation_policy_id` of `POST /oauth/token`.'),
    name: z.string(),
    issuer_id: z.uuid(),
    audience: z.string(),
    subject: z.string().nullable(),
    condition: z.string().nullable(),
    key_hash: z.string(),
    enabled: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'WorkloadPolicy' })

const name = nameField(100)
const audience = z.string().min(1).max(512).describe('The only `aud` of the token.')
const subject = z.string().min(1).max(maxSubjectLength).describe('Exactly the `sub` of the token.')
const condition = z
  .string()
  .min(1)
  .max(2000)
  .describe(
    'A CEL expression over `subject`, `audience`, `scopes` and `token_type`, such as `subject.startsWith("repo:acme/app:")`.',
  )
const keyHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('The inference key that the workload acts with.')

const createBody = z
  .strictObject({
    name,
    issuer_id: z.uuid(),
    audience,
    subject: subject.nullish(),
    condition: condition.nullish(),
    key_hash: keyHash,
    enabled: z.boolean().default(true),
  })
  .meta({ override: { anyOf: [requireFields('subject'), requireFields('condition')] } })

const updateBody = z.strictObject({
  name: name.optional(),
  audience: audience.optional(),
  subject: subject.nullish(),
  condition: condition.nullish(),
  key_hash: keyHash.optional(),
  enabled: z.boolean().optional(),
})

const createWorkloadPolicy = defineOperation({
  id: 'createWorkloadPolicy',
  method: 'POST',
  path,
  tag,
  summary: 'Adds a policy: which tokens of an issuer are exchanged for access with which API key.',
  description:
    'A token must have the audience, and satisfy `subject`, `condition`, or both if both are set; one of them is required.',
  permission: 'workload_identity:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: policyRecord }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    const { key_hash, enabled, issuer_id, subject = null, condition = null, ...fields } = body
    assertMayIssueTokens(caller)
    assertRule({ subject, condition })
    const now = isoNow(gateway.clock)
    const policy: Policy = {
      ...fields,
      subject,
      condition,
      id: newUuid(),
      organization_id: caller.organizationId,
      issuer_id: issuer_id.toLowerCase(),
      target_key: key_hash,
      enabled: toFlag(enabled),
      created_at: now,
      updated_at: now,
    }
    await transact(context, async (tx, record) => {
      if (!(await lockIssuer(tx, caller.organizationId, policy.issuer_id)))
        throw invalidFieldError('issuer_id', 'is not an issuer of the organization')
      const { workspace_id } = await requireTarget(tx, caller.organizationId, key_hash)
      await insertPolicy(tx, policy)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'workload_policies', caller.organizationId)
      const target = targetOf(policy)
      record({ action: 'workload_policy.create', target, workspaceId: workspace_id, after: policy })
    })
    return { data: toPolicyRecord(policy) }
  },
})

const listWorkloadPolicies = defineOperation({
  id: 'listWorkloadPolicies',
  method: 'GET',
  path,
  tag,
  summary: 'Lists the policies of workload identity, oldest first.',
  permission: 'workload_identity:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(policyRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listPolicies(gateway.db, caller.organizationId, query)
    return { data: rows.map(toPolicyRecord), total_count: total }
  },
})

const getWorkloadPolicy = defineOperation({
  id: 'getWorkloadPolicy',
  method: 'GET',
  path: `${path}/{id}`,
  tag,
  summary: 'Returns a policy of workload identity.',
  permission: 'workload_identity:read',
  params,
  errors: [404],
  response: z.strictObject({ data: policyRecord }),
  handle: async ({ gateway, caller, params }) => {
    const policy = await findPolicy(gateway.db, caller.organizationId, params.id.toLowerCase())
    if (!policy) throw errorNotFound()
    return { data: toPolicyRecord(policy) }
  },
})

const updateWorkloadPolicy = defineOperation({
  id: 'updateWorkloadPolicy',
  method: 'PATCH',
  path: `${path}/{id}`,
  tag,
  summary: 'Changes a policy of workload identity. Fields that are absent stay as they are.',
  description: 'Tokens that were already issued stay valid until they expire.',
  permission: 'workload_identity:write',
  params,
  body: updateBody,
  errors: [404],
  response: z.strictObject({ data: policyRecord }),
  handle: async (context) => {
    const { gateway, caller, params, body } = context
    const { key_hash, enabled, ...fields } = body
    assertMayIssueTokens(caller)
    const after = await transact(context, async (tx, record) => {
      const before = await lockPolicy(tx, caller.organizationId, params.id.toLowerCase())
      if (!before) throw errorNotFound()
      if (key_hash !== undefined) await requireTarget(tx, caller.organizationId, key_hash)
      const changed = await updatePolicy(tx, before.id, {
        ...fields,
        ...(key_hash !== undefined && { target_key: key_hash }),
        ...(enabled !== undefined && { enabled: toFlag(enabled) }),
        updated_at: isoNow(gateway.clock),
      })
      assertRule(changed)
      record({ action: 'workload_policy.update', target: targetOf(changed), before, after: changed })
      return changed
    })
    return { data: toPolicyRecord(after) }
  },
})

const deleteWorkloadPolicy = defineOperation({
  id: 'deleteWorkloadPolicy',
  method: 'DELETE',
  path: `${path}/{id}`,
  tag,
  summary:
    'Deletes a policy of workload identity. Tokens that were already issued stay valid until they expire.',
  permission: 'workload_identity:write',
  params,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { caller, params } = context
    await transact(context, async (tx, record) => {
      const policy = await lockPolicy(tx, caller.organizationId, params.id.toLowerCase())
      if (!policy) throw errorNotFound()
      await deletePolicy(tx, policy.id)
      record({ action: 'workload_policy.delete', target: targetOf(policy), before: policy })
    })
    return { deleted: true as const }
  },
})

export const policyOperations = [
  createWorkloadPolicy,
  listWorkloadPolicies,
  getWorkloadPolicy,
  updateWorkloadPolicy,
  deleteWorkloadPolicy,
]

/** Requires a subject or a condition: without one, every workload of the issuer would be accepted. */
function assertRule({ subject, condition }: Pick<Policy, 'subject' | 'condition'>): void {
  if (subject === null && condition === null)
    throw invalidFieldError('subject', 'is required, unless there is a condition')
  const problem = condition === null ? null : findConditionProblem(condition)
  if (problem !== null) throw invalidFieldError('condition', problem)
}

/** A key of a workspace: not one that accounts for a signed-in member, and not a management key. */
export function isTargetKey({ kind, source }: ApiKey): boolean {
  return kind === 'inference' && source === 'api'
}

async function requireTarget(tx: Db, organizationId: string, hash: string): Promise<ApiKey> {
  const key = await findKey(tx, organizationId, hash)
  if (key && isTargetKey(key)) return key
  throw invalidFieldError('key_hash', 'must be the hash of an inference key of a workspace')
}

export function targetOf({ id, name }: Pick<Policy, 'id' | 'name'>) {
  return { type: 'workload_policy', id, name }
}

function toPolicyRecord(policy: Policy): z.input<typeof policyRecord> {
  const { organization_id: _organization, target_key, enabled, ...fields } = policy
  return { ...fields, key_hash: target_key, enabled: enabled === 1 }
}
