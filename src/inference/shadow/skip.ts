import type { Gateway } from '../../gateway/gateway.ts'
import { buildSkipCount, type SkipReason } from '../../storage/shadows/comparison-store.ts'

/** Counts a request that is not mirrored. */
export function skip(gateway: Gateway, shadowId: string, reason: SkipReason): void {
  const statement = buildSkipCount(gateway.db, shadowId, gateway.clock.now(), reason)
  gateway.statementWriter
    .write(statement)
    .catch((err: unknown) => gateway.log.warn({ err }, 'a skipped mirror was not counted'))
}
