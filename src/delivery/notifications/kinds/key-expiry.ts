import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { type AlertSource, quoteName } from '../alert.ts'
import { loadExpiringKeys } from './store.ts'

const dayMs = 86_400_000

/** Notified once for each expiry time: a key that is extended is notified again before its new one. */
export const keyExpiry: AlertSource = {
  kind: 'key_expiring',
  async find({ db, clock }, rules) {
    const now = clock.now()
    const until = new Date(now + rules.maxThreshold * dayMs).toISOString()
    const keys = await loadExpiringKeys(db, new Date(now).toISOString(), until)
    return keys.flatMap((key) => {
      const remainingMs = Date.parse(key.expires_at) - now
      return rules
        .match(key.organization_id, key.workspace_id)
        .filter(({ threshold }) => remainingMs <= threshold * dayMs)
        .map((rule) => ({
          rule,
          alert: {
            organizationId: key.organization_id,
            workspaceId: key.workspace_id,
            subject: meterSubjects.key(key.id),
            level: rule.threshold,
            period: key.expires_at,
            title: `The key ${quoteName(key.name)} expires soon`,
            text: `The API key ${quoteName(key.name)} (${key.label}) expires at ${key.expires_at}. From then on its requests are refused with 401. Create another key and replace it, or change its expiry.`,
            data: { key_hash: key.hash, key_name: key.name, expires_at: key.expires_at },
          },
        }))
    })
  },
}
