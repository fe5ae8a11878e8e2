import type { Weakening } from '../../../governance/privacy-lock.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { decodeList } from '../../../platform/db/values.ts'

type LoggingSettings = Pick<
  Workspace,
  | 'io_logging_enabled'
  | 'io_logging_sampling_rate'
  | 'io_logging_api_key_ids'
  | 'data_discount_logging_enabled'
  | 'broadcast_enabled'
>

/** The first setting whose change would store or share more content than before; null if none does. */
export function findWeakening(
  before: LoggingSettings,
  after: LoggingSettings,
  hasContentDestination: boolean,
): Weakening | null {
  const isSwitchedOn = (name: 'io_logging_enabled' | 'data_discount_logging_enabled' | 'broadcast_enabled') =>
    before[name] === 0 && after[name] === 1
  if (isSwitchedOn('io_logging_enabled'))
    return { field: 'is_observability_io_logging_enabled', problem: 'cannot be switched on' }
  if (isSwitchedOn('data_discount_logging_enabled'))
    return { field: 'is_data_discount_logging_enabled', problem: 'cannot be switched on' }
  if (isSwitchedOn('broadcast_enabled') && hasContentDestination)
    return {
      field: 'is_observability_broadcast_enabled',
      problem: 'cannot be switched on with a destination without privacy_mode',
    }
  return after.io_logging_enabled === 1 ? findWiderLogging(before, after) : null
}

function findWiderLogging(before: LoggingSettings, after: LoggingSettings): Weakening | null {
  if (after.io_logging_sampling_rate > before.io_logging_sampling_rate)
    return { field: 'io_logging_sampling_rate', problem: 'cannot be raised' }
  const allowed = decodeList<number>(before.io_logging_api_key_ids)
  const ids = decodeList<number>(after.io_logging_api_key_ids)
  const isWider = allowed !== null && (ids === null || ids.some((id) => !allowed.includes(id)))
  return isWider ? { field: 'io_logging_api_key_ids', problem: 'cannot be extended' } : null
}

/** Finds a setting by which a new workspace, which has no destinations, would store or share content. */
export function findLogging(created: Partial<LoggingSettings>): Weakening | null {
  const nothing = {
    io_logging_enabled: 0,
    io_logging_sampling_rate: 1,
    io_logging_api_key_ids: null,
    data_discount_logging_enabled: 0,
    broadcast_enabled: 0,
  } as const
  return findWeakening(nothing, { ...nothing, ...created }, false)
}
