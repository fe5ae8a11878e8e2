import { findLimit } from '../../../governance/limits/store.ts'
import { decodeNearestLimit, type RecordedLimit } from '../../../inference/hold/nearest-limit.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { GenerationRow } from './record.ts'

/** The limit that was nearest, with the name of a declared one. */
export interface NamedLimit extends RecordedLimit {
  name: string | null
}

export async function findNearestLimit(
  db: Db,
  { nearest_limit, organization_id }: Pick<GenerationRow, 'nearest_limit' | 'organization_id'>,
): Promise<NamedLimit | null> {
  if (nearest_limit === null) return null
  const limit = decodeNearestLimit(nearest_limit)
  const [scope, id = ''] = limit.subject.split(':')
  const declared = scope === 'limit' ? await findLimit(db, organization_id, id) : undefined
  return { ...limit, name: declared?.name ?? null }
}
