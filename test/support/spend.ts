import type { Gateway } from '../../src/gateway/gateway.ts'
import { emptyDraft } from '../../src/ledger/draft.ts'
import { meterSubjects } from '../../src/ledger/meter-subjects.ts'
import { createRelease } from '../../src/ledger/settlement.ts'
import { newId } from '../../src/platform/crypto/ids.ts'

/** Records spending as a reply of that day would. */
export async function recordSpend(
  gateway: Gateway,
  key: { id: number; organization_id: string; workspace_id: string; creator_user_id?: string | null },
  day: string,
  usd: { credits?: number; byok?: number },
): Promise<void> {
  const spent = {
    amount: BigInt(Math.round((usd.credits ?? 0) * 1e9)),
    byok: BigInt(Math.round((usd.byok ?? 0) * 1e9)),
  }
  const id = newId('gen')
  const meters = [
    meterSubjects.organization(key.organization_id),
    meterSubjects.workspace(key.workspace_id),
    meterSubjects.key(key.id),
    ...(key.creator_user_id
      ? [
          meterSubjects.member(key.workspace_id, key.creator_user_id),
          meterSubjects.memberTotal(key.creator_user_id),
        ]
      : []),
  ]
  const rejection = await gateway.ledger.admit({
    op: 'admit',
    request: { id, subjects: meters, day, limits: [], free: null, ...spent },
    organizationId: key.organization_id,
    owner: gateway.node.id,
    expiresAt: '2999-01-01T00:00:00.000Z',
    draft: emptyDraft,
  })
  if (rejection) throw new Error('the hold was rejected')
  await gateway.ledger.settle({ ...createRelease(id, key.organization_id), spent })
}
