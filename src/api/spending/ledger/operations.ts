import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import type { RateLimit } from '../../../http/rate-limit.ts'
import { toUsdTotals } from '../../../ledger/check.ts'
import { checkLedgerOnThread } from '../../../ledger/check-thread.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

/** Each reads whole tables. */
const checkLimit: RateLimit = { name: 'checks of the ledger', perMinute: 2, perDay: 200 }

/** Maximum time of a check, less than connections may be idle. */
const maxCheckMs = 90_000

const finding = z.strictObject({
  invariant: z.string(),
  statement: z.string(),
  looked_at: z.int().describe('How many rows were checked.'),
  violations: z.array(z.string()).describe('The first 20.'),
})

const ledgerCheck = z
  .strictObject({
    sound: z.boolean().describe('Whether every invariant holds.'),
    findings: z.array(finding),
    figures: z.strictObject({
      entries: z.int(),
      generations: z.int(),
      holds: z.int(),
      unrecovered: z
        .int()
        .describe('Requests that a crash interrupted and that could not be charged, each with its record.'),
      unrecovered_usd: z.number().describe('The most that they may have cost.'),
      credits_usd: z.number(),
      spent_usd: z.number(),
      held_usd: z.number(),
      balance_usd: z.number(),
    }),
  })
  .meta({ id: 'LedgerCheck' })

const checkLedgerOperation = defineOperation({
  id: 'checkLedger',
  method: 'POST',
  path: '/ledger/check',
  tag: 'Ledger',
  summary: 'Verifies the invariants of the ledger, as `headgate check-ledger` does, and returns its totals.',
  description:
    'The ledger of the whole installation is read from one snapshot on another thread, while requests are served. After 90 seconds the check ends with 503: use the command then.',
  permission: 'system:read',
  errors: [503],
  rateLimit: checkLimit,
  response: z.strictObject({ data: ledgerCheck }),
  handle: async (request) => {
    const { databaseUrl } = request.gateway.config
    const check = await checkLedgerOnThread(databaseUrl, maxCheckMs)
    if (!check) {
      throw gatewayError(
        'unavailable',
        'The check took longer than 90 seconds. Run `headgate check-ledger` on the server.',
      )
    }
    const { sound, findings, figures } = check
    request.gateway.metrics.system.recordCheck('ledger', sound)
    await transact(request, async (_tx, record) => {
      record({ action: 'ledger.check', target: { type: 'ledger', id: 'ledger' }, details: { sound } })
    })
    return { data: { sound, findings, figures: toUsdTotals(figures) } }
  },
})

export const ledgerOperations = [checkLedgerOperation]
