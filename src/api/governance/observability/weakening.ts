import type { Weakening } from '../../../governance/privacy-lock.ts'
import { decodeList } from '../../../platform/db/values.ts'
import type { DestinationRow } from './record.ts'

type SharingSettings = Pick<
  DestinationRow,
  | 'enabled'
  | 'privacy_mode'
  | 'broadcast_generation_cost'
  | 'broadcast_generation_identity'
  | 'broadcast_generation_request_context'
  | 'sampling_rate'
  | 'regions'
  | 'api_key_hashes'
  | 'filter_rules'
>

const broadcastFields = [
  'broadcast_generation_cost',
  'broadcast_generation_identity',
  'broadcast_generation_request_context',
] as const

type BroadcastSettings = Pick<SharingSettings, (typeof broadcastFields)[number]>

/** Finds the first setting of a new destination that shares more than metadata; null if none does. */
export function findSharing(
  created: BroadcastSettings & Pick<SharingSettings, 'privacy_mode'>,
): Weakening | null {
  if (created.privacy_mode === 0)
    return { field: 'privacy_mode', problem: 'must be true for a new destination' }
  return findBroadcast(null, created)
}

/** The first field whose change would share more than before; null if none does. */
export function findWeakening(
  before: SharingSettings,
  after: SharingSettings,
  isOtherOrigin: boolean,
): Weakening | null {
  if (before.privacy_mode === 1 && after.privacy_mode === 0)
    return { field: 'privacy_mode', problem: 'cannot be switched off' }
  const broadcast = findBroadcast(before, after)
  if (broadcast) return broadcast
  // With privacy mode, no content is shared, however many requests are reported.
  return after.privacy_mode === 1 ? null : findWidening(before, after, isOtherOrigin)
}

function findBroadcast(before: BroadcastSettings | null, after: BroadcastSettings): Weakening | null {
  const field = broadcastFields.find((name) => after[name] === 1 && before?.[name] !== 1)
  return field ? { field, problem: 'cannot be switched on' } : null
}

/** Finds a change by which a destination with content gets more requests, or another recipient. */
function findWidening(
  before: SharingSettings,
  after: SharingSettings,
  isOtherOrigin: boolean,
): Weakening | null {
  const without = 'of a destination without privacy_mode'
  if (before.enabled === 0 && after.enabled === 1)
    return { field: 'enabled', problem: `cannot be switched on ${without}` }
  if (after.sampling_rate > before.sampling_rate)
    return { field: 'sampling_rate', problem: `cannot be raised ${without}` }
  if (!isWithin(after.regions, before.regions))
    return { field: 'regions', problem: `cannot be extended ${without}` }
  if (!isWithin(after.api_key_hashes, before.api_key_hashes))
    return { field: 'api_key_hashes', problem: `cannot be extended ${without}` }
  if (before.filter_rules !== null && after.filter_rules !== before.filter_rules)
    return { field: 'filter_rules', problem: `cannot be changed ${without}` }
  return isOtherOrigin ? { field: 'config', problem: `cannot name another origin ${without}` } : null
}

/** Whether a list selects nothing that another does not; null selects everything. */
function isWithin(list: string | null, other: string | null): boolean {
  const allowed = decodeList<string>(other)
  if (allowed === null) return true
  return decodeList<string>(list)?.every((item) => allowed.includes(item)) ?? false
}
