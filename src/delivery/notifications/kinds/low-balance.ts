import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { type AlertSource, formatUsd, openPeriod } from '../alert.ts'
import { loadBalances } from './store.ts'

/** An organization that never had credits has none to run out of. */
export const lowBalance: AlertSource = {
  kind: 'low_balance',
  async find({ db }, rules) {
    const balances = await loadBalances(db, rules.organizationIds)
    return balances.flatMap(({ organizationId, granted, spent }) => {
      const balance = granted - spent
      if (granted <= 0n) return []
      return rules
        .match(organizationId, null)
        .filter(({ threshold }) => usdFromNanos(balance) < threshold)
        .map((rule) => ({
          rule,
          alert: {
            organizationId,
            workspaceId: null,
            subject: meterSubjects.organization(organizationId),
            level: rule.threshold,
            period: openPeriod,
            title: `The balance is below ${rule.threshold} USD`,
            text: `The organization has ${formatUsd(balance)} of credits left. At zero, requests that cost credits are refused with 402. Add credits, or lower the budgets of workspaces and keys.`,
            data: { balance_usd: usdFromNanos(balance), threshold_usd: rule.threshold },
          },
        }))
    })
  },
}
