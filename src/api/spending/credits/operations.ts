import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import {
  type Funding,
  findFunding,
  fundingKinds,
  loadCreditTotals,
  type PostedFunding,
  postFunding,
} from '../../../ledger/entries.ts'
import { loadOrganizationUsage } from '../../../ledger/usage.ts'
import { deriveUuid, newId } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { minUsd, usdFromNanos } from '../../../platform/money/money.ts'
import { signedUsdAmount } from '../../../platform/money/money-schema.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { ifFieldIn } from '../../../platform/validation/schema-rules.ts'
import { listCreditEntriesOperation } from './entries.ts'

const credits = z
  .strictObject({
    total_credits: z.number().describe('Credits purchased and granted, in USD.'),
    total_usage: z.number().describe('Credits used, in USD. The balance is the difference.'),
  })
  .meta({ id: 'Credits' })

const kind = z.enum(fundingKinds)

const creditGrant = z
  .strictObject({
    transaction_id: z.string(),
    organization_id: z.string(),
    amount: z.number().describe('The amount in USD.'),
    kind,
    note: z.string().nullable(),
    created_at: z.string(),
    total_credits: z.number().describe("The organization's total credits after this entry, in USD."),
  })
  .meta({ id: 'CreditGrant' })

const grantBody = z
  .strictObject({
    amount: signedUsdAmount.describe('The amount in USD. Only an adjustment can be negative.'),
    kind: kind.default('grant').describe('Only purchases count toward the limits of free models.'),
    note: z.string().max(500).nullish(),
    organization_id: z.string().min(1).max(100).optional().describe("Defaults to the caller's organization."),
    idempotency_key: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('Repeating a key adds nothing and returns the first response.'),
  })
  // Documents what `validateAmount` enforces.
  .meta({
    override: {
      ...ifFieldIn('kind', ['adjustment'], { properties: { amount: { not: { const: 0 } } } }),
      else: { properties: { amount: { minimum: minUsd } } },
    },
  })

const getCredits = defineOperation({
  id: 'getCredits',
  method: 'GET',
  path: '/credits',
  tag: 'Credits',
  summary: 'Retrieves the credits and usage of the organization.',
  permission: 'credits:read',
  response: z.strictObject({ data: credits }),
  handle: async ({ gateway, caller }) => {
    const { total } = await loadCreditTotals(gateway.db, caller.organizationId)
    const used = await loadOrganizationUsage(gateway.db, caller.organizationId)
    return { data: { total_credits: usdFromNanos(total), total_usage: usdFromNanos(used) } }
  },
})

const grantCredits = defineOperation({
  id: 'grantCredits',
  method: 'POST',
  path: '/credits/grants',
  tag: 'Credits',
  summary: 'Grants credits to an organization, records a purchase, or adjusts a balance.',
  permission: 'credits:write',
  body: grantBody,
  status: 201,
  errors: [404, 409],
  response: z.strictObject({ data: creditGrant }),
  handle: async (request) => {
    const { gateway, caller, body } = request
    validateAmount(body)
    const funding: Funding = {
      organizationId: body.organization_id ?? caller.organizationId,
      kind: body.kind,
      amount: body.amount,
      note: body.note ?? null,
      transactionId: deriveTransactionId(caller.organizationId, body.idempotency_key),
      at: isoNow(gateway.clock),
    }
    const posted = await transact(request, (tx, record) => postFundingOnce(tx, record, funding))
    return { data: toGrantRecord(posted) }
  },
})

export const creditOperations = [getCredits, grantCredits, listCreditEntriesOperation]

function validateAmount({ amount, kind }: z.output<typeof grantBody>): void {
  if (amount === 0n) throw invalidFieldError('amount', 'must not be 0')
  if (amount < 0n && kind !== 'adjustment')
    throw invalidFieldError('amount', `must be more than 0 for a ${kind}`)
}

function deriveTransactionId(organizationId: string, idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return newId('txn')
  return `txn_${deriveUuid('credit-grant', organizationId, idempotencyKey)}`
}

/** The organization lock numbers entries in the order they count, so that a replay adds up the same. */
async function postFundingOnce(tx: Db, record: RecordEvent, funding: Funding): Promise<PostedFunding> {
  if (!(await lockOrganization(tx, funding.organizationId))) {
    throw gatewayError('not_found', 'organization_id: the organization does not exist.')
  }
  const isNew = !(await findFunding(tx, funding.transactionId))
  if (isNew) await postFunding(tx, funding)
  const posted = await findFunding(tx, funding.transactionId)
  if (!posted || !isSameFunding(posted, funding)) {
    throw gatewayError('conflict', 'idempotency_key: was used with a different grant.')
  }
  if (isNew) {
    const target = { type: 'credits', id: posted.transactionId }
    record({
      action: `credits.${posted.kind}`,
      target,
      organizationId: posted.organizationId,
      after: { ...posted },
    })
  }
  return posted
}

function isSameFunding(posted: Funding, funding: Funding): boolean {
  return (
    posted.organizationId === funding.organizationId &&
    posted.kind === funding.kind &&
    posted.amount === funding.amount
  )
}

function toGrantRecord(posted: PostedFunding): z.input<typeof creditGrant> {
  return {
    transaction_id: posted.transactionId,
    organization_id: posted.organizationId,
    amount: usdFromNanos(posted.amount),
    kind: posted.kind,
    note: posted.note,
    created_at: posted.at,
    total_credits: usdFromNanos(posted.totalCredits),
  }
}
