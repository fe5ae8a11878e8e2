import { type AlertSource, openPeriod, quoteName } from '../alert.ts'
import { loadFailingDestinations } from './store.ts'

const minuteMs = 60_000

/** A destination that fails while events have waited for it, or that the gateway disabled. */
export const destinationFailure: AlertSource = {
  kind: 'destination_failing',
  async find({ db, clock }, rules) {
    const now = clock.now()
    const before = new Date(now - rules.minThreshold * minuteMs).toISOString()
    const failing = await loadFailingDestinations(db, before)
    return failing.flatMap((row) => {
      const waitingMs = row.waiting_since === null ? 0 : now - Date.parse(row.waiting_since)
      const name = quoteName(row.name ?? row.type)
      const isDisabled = row.disabled_reason !== null
      const state = isDisabled
        ? 'was disabled, because it answered that it is gone'
        : `has not accepted events since ${row.waiting_since}; ${row.failures} requests in a row failed`
      return rules
        .match(row.organization_id, row.workspace_id)
        .filter(({ threshold }) => isDisabled || waitingMs >= threshold * minuteMs)
        .map((rule) => ({
          rule,
          alert: {
            organizationId: row.organization_id,
            workspaceId: row.workspace_id,
            subject: `destination:${row.id}`,
            level: rule.threshold,
            period: openPeriod,
            title: `The destination ${name} ${isDisabled ? 'was disabled' : 'is failing'}`,
            text: `The destination ${name} (${row.type}) ${state}. See the error with GET /observability/destinations/${row.id}/status, correct its settings, and test it with POST /observability/destinations/${row.id}/test.`,
            data: { destination_id: row.id, type: row.type, failures: row.failures, is_disabled: isDisabled },
          },
        }))
    })
  },
}
